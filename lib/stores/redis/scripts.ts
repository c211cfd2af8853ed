import type { Algorithm } from '../../contracts/algorithm.js';
import type { Call } from './call.js';
import type { StoreClient } from './connection.js';
import { assembleScript, type ScriptMain } from './script.js';

/** Runs scripts on a client, which gets each once and knows it by its hash from then on. */
export class Scripts {
  private readonly commands = new Set<string>();

  constructor(private readonly client: StoreClient) {}

  run(main: ScriptMain, { algorithms, keys, argv }: Call): Promise<unknown> {
    const name = this.command(main, algorithms);
    const commands = this.client as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
    return commands[name]!(keys.length, ...keys, ...argv);
  }

  /** The script for these algorithms, as the name of a command of the client. */
  private command(main: ScriptMain, algorithms: readonly Algorithm[]): string {
    const name = `rateLimit:${main}:${algorithms.map(({ name }) => name).join('+')}`;
    if (!this.commands.has(name)) {
      this.client.defineCommand(name, { lua: assembleScript(main, algorithms) });
      this.commands.add(name);
    }
    return name;
  }
}
