import type { Algorithm } from '../../contracts/algorithm.js';
import type { Call } from './call.js';
import type { StoreClient } from './connection.js';
import { assembleScript, type Main } from './script.js';

/** A script that is defined as a command of the client. */
type Command = (...args: unknown[]) => Promise<unknown>;

/** Runs scripts on a client. Each script is sent once and called by its hash after that. */
export class Scripts {
  private readonly commands = new Map<string, Command>();

  constructor(private readonly client: StoreClient) {}

  run({ main, algorithms, keys, argv }: Call): Promise<unknown> {
    const name = nameOf(main, algorithms);
    const command = this.commands.get(name) ?? this.define(name, main, algorithms);
    return keys.length === 1
      ? command.call(this.client, 1, keys[0], ...argv)
      : command.call(this.client, keys.length, ...keys, ...argv);
  }

  private define(name: string, main: Main, algorithms: readonly Algorithm[]): Command {
    this.client.defineCommand(name, { lua: assembleScript(main, algorithms) });
    const command = (this.client as unknown as Record<string, Command>)[name]!;
    this.commands.set(name, command);
    return command;
  }
}

/** Returns the name of the command for a script with some algorithms. */
function nameOf(main: Main, algorithms: readonly Algorithm[]): string {
  let name = `rateLimit:${main}:`;
  for (const algorithm of algorithms) name += `${algorithm.name}+`;
  return name;
}
