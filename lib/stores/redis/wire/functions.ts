import type { Call, Caller } from './call.js';
import { serverOf, type StoreClient } from '../link/connection.js';
import { isTemporary } from '../link/deadline.js';
import type { CurrentClient } from '../link/current-client.js';
import { WHEN_FULL, type Library } from './library.js';
import { FUNCTIONS_OFF } from '../redis.store.options.js';
import { isError, oneLine } from '../link/reply-error.js';
import type { Algorithm } from '../../../contracts/algorithm.js';
import { entryOf } from '../../../contracts/entry-of.js';
import { assembleScript, type ScriptName } from './script.js';

/** The form in which a server runs the limiter's Lua. */
export interface FunctionSupport {
  /** Its address; `''` if there is only one server. */
  readonly server: string;
  /** The library of functions that it runs; absent if it runs scripts. */
  readonly library?: string;
  /** Why it runs scripts. */
  readonly reason?: string;
}

const NOT_FOUND = 'ERR Function not found';

const EXISTS = /^ERR Library .*already exists/;

const OUT_OF_MEMORY = /^OOM\b/;

/** A server or a proxy that does not know FCALL, or does not permit this user to send it, in the words of several. */
const NOT_OFFERED =
  /\bfcall\b|(unknown|unsupported|unsupport) (redis )?command|\bcommand\b.*(not (allowed|supported|available|permitted)|disabled)/i;

/** An error of a command within a function, which may have changed something before. */
const WITHIN = /user_function|\bscript\b/;

/** Whether a server has refused FCALL itself, so that the call can run as a script. */
export function isNotOffered(message: string): boolean {
  return NOT_OFFERED.test(message) && !WITHIN.test(message) && !isTemporary(new Error(message));
}

/** Maximum number of times that the library is loaded for one call: it may be flushed, or the slot may move. */
const MOST_LOADS = 3;

/**
 * Runs calls as functions of the library, which is loaded if it is missing: on a new server, after a failover, after
 * FUNCTION FLUSH. A server that does not support or permit functions runs scripts.
 * See docs/adr/0047-one-lua-library.md.
 */
export class Functions implements Caller {
  private readonly forms = new Map<string, FunctionSupport>();
  private readonly listeners: ((form: FunctionSupport) => void)[] = [];
  /** The servers of a Cluster that have decided calls for several slots. */
  private readonly tested = new Set<string>();
  /** The loads that servers have not answered yet. */
  private readonly loading = new Map<string, Promise<Error | undefined>>();

  /** @param library if absent, all calls run as scripts */
  constructor(
    private readonly current: CurrentClient,
    private readonly library: Library | undefined,
  ) {
    current.watch((client) => this.use(client));
  }

  run(call: Call): Promise<unknown> {
    const form = this.forms.get(call.server);
    if (!this.library || (form && !form.library)) return this.runScript(call, FUNCTIONS_OFF);
    const recover = (error: unknown): Promise<unknown> => this.recover(error, call);
    if (form) return this.send(call).catch(recover);
    return this.send(call).then((reply) => this.ran(reply, call), recover);
  }

  /** Reports the form in which a server runs the Lua, when it is known. */
  watch(listener: (form: FunctionSupport) => void): void {
    this.listeners.push(listener);
  }

  private use(client: StoreClient): void {
    const forget = (): void => {
      this.forms.clear();
      this.tested.clear();
    };
    forget();
    // A server may support functions, or no longer do so, after it was disconnected.
    client.on((client.isCluster ? '+node' : 'ready') as 'ready', forget);
  }

  private send(call: Call, suffix = ''): Promise<unknown> {
    const name = this.library!.functions[call.main] + suffix;
    return call.main === 'across'
      ? this.sendAcross(call, name)
      : send(this.current.client, 'fcall', call, name);
  }

  /** Sends a call for several slots. The first to a server contains a test, see across.lua. */
  private async sendAcross({ server, keys, argv }: Call, name: string): Promise<unknown> {
    const { cluster, keyPrefix } = this.current;
    const node = cluster?.nodeOf(server);
    if (!node) throw refusedAcross();
    const prefixed = keyPrefix ? keys.map((key) => keyPrefix + key) : keys;
    const test = this.tested.has(server) ? '' : this.testOf(server, keys[0]!);
    const { fcallBuffer } = node as unknown as Commands;
    const reply = await fcallBuffer!.call(node, name, 0, test, keys.length, ...prefixed, ...argv);
    this.tested.add(server);
    return reply;
  }

  private testOf(server: string, key: string): string {
    const { cluster, keyPrefix } = this.current;
    const other = cluster?.keyOn(key, (its) => its !== '' && its !== server);
    return other === undefined ? 'all' : keyPrefix + other;
  }

  private ran(reply: unknown, call: Call): unknown {
    this.note({ server: this.repliedTo(call), library: this.library!.name });
    return reply;
  }

  private runScript(call: Call, reason: string, server = call.server): Promise<unknown> {
    this.note({ server, reason });
    return evaluate(this.current.client, call);
  }

  /** Returns the server that has replied to a call: the one to which its slot has moved, if it was redirected. */
  private repliedTo({ main, server, keys }: Call): string {
    return main === 'across' ? server : this.current.serverOf(keys[0]!);
  }

  private note(form: FunctionSupport): void {
    const before = this.forms.get(form.server);
    if (before && before.library === form.library) return;
    this.forms.set(form.server, form);
    for (const listener of this.listeners) listener(form);
  }

  /** Repeats a call that no function has executed, unless its deadline has passed. */
  private async recover(error: unknown, call: Call, loads = 0): Promise<unknown> {
    const server = this.repliedTo(call);
    const message = isError(error) ? error.message : '';
    if (call.left!() <= 0) throw error;
    if (OUT_OF_MEMORY.test(message)) return this.sendWhenFull(call, loads);
    if (isNotOffered(message)) return this.runScript(call, oneLine(message), server);
    if (!message.startsWith(NOT_FOUND))
      throw call.main === 'across' && isTemporary(error) ? refusedAcross() : error;
    if (loads === MOST_LOADS) return evaluate(this.current.client, call); // the next call loads the library again
    const refusal = await this.load(server);
    if (call.left!() <= 0) throw error;
    if (refusal) return this.runUnloaded(refusal, call, server);
    return this.send(call).then(
      (reply) => this.ran(reply, call),
      (next: unknown) => this.recover(next, call, loads + 1),
    );
  }

  private sendWhenFull(call: Call, loads: number): Promise<unknown> {
    return this.send(call, WHEN_FULL).catch((error: unknown) => {
      if (isError(error) && error.message.startsWith(NOT_FOUND)) return this.recover(error, call, loads);
      throw error;
    });
  }

  /** Runs a call as a script. If the reason is temporary, such as a lack of memory, the next call loads the library again. */
  private runUnloaded(refusal: Error, call: Call, server: string): Promise<unknown> {
    const isLasting = refusal.name === 'ReplyError' && !isTemporary(refusal);
    return isLasting
      ? this.runScript(call, oneLine(refusal.message), server)
      : evaluate(this.current.client, call);
  }

  /**
   * Loads the library on every master, once for all calls that need it, and waits for that of a server: another may hang.
   *
   * @returns why the server has not loaded it
   */
  private async load(server: string): Promise<Error | undefined> {
    const { loading } = this;
    const { client } = this.current;
    for (const node of client.nodes?.('master') ?? [client]) {
      const address = client.isCluster ? serverOf(node) : '';
      void entryOf(loading, address, () => this.loadOn(node).finally(() => loading.delete(address)));
    }
    // A master that has just joined may be unknown: then any refusal counts.
    return loading.get(server) ?? (await Promise.all(loading.values())).find(isError);
  }

  private async loadOn(node: StoreClient): Promise<Error | undefined> {
    try {
      await node.call('FUNCTION', 'LOAD', this.library!.text);
      return undefined;
    } catch (error) {
      return EXISTS.test((error as Error).message) ? undefined : (error as Error);
    }
  }
}

/** The methods of a client for its commands, also for those that are defined as scripts. */
type Commands = Readonly<Record<string, ((...args: unknown[]) => Promise<unknown>) | undefined>>;

/** Runs a call as a script on a client. Each script is sent once and called by its hash after that. */
function evaluate(client: StoreClient, call: Call): Promise<unknown> {
  const { main, algorithms } = call;
  if (main === 'across') return Promise.reject(refusedAcross());
  const name = nameOf(main, algorithms);
  if (!(name in client)) client.defineCommand(name, { lua: assembleScript(main, algorithms) });
  return send(client, name, call);
}

/** Sends the keys and arguments of a call. The reply of decide.lua is binary. */
function send(client: StoreClient, command: string, call: Call, ...first: string[]): Promise<unknown> {
  const { main, keys, argv } = call;
  const method = (client as unknown as Commands)[main === 'decide' ? `${command}Buffer` : command]!;
  return method.call(client, ...first, keys.length, ...keys, ...argv);
}

/** Returns the error of a call for several slots that must be repeated with a call for each of them. */
function refusedAcross(): Error {
  return Object.assign(new Error('TRYAGAIN with a call for each slot'), { name: 'ReplyError' });
}

/** Returns the name of the command for a script with some algorithms. */
function nameOf(main: ScriptName, algorithms: readonly Algorithm[]): string {
  let name = `rateLimit:${main}:`;
  for (const algorithm of algorithms) name += `${algorithm.name}+`;
  return name;
}
