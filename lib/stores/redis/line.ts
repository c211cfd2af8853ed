import type { StoreChange } from '../../contracts/store.js';
import type { Call } from './call.js';
import type { Circuit } from './circuit.js';
import { Circuits } from './circuits.js';
import { firstConnection, type Bounds, type StoreClient } from './connection.js';
import { Deadline } from './deadline.js';
import { askUntilMoved, isOnTheMove } from './moving-slot.js';
import { isOutage } from './outage.js';
import { hasDoneNothing } from './refund-retries.js';
import { failureIn } from './reply.js';
import { Scripts } from './scripts.js';
import type { ScriptMain } from './script.js';
import type { Servers } from './servers.js';

/** The line to Redis: every call on it is answered, fails or is given up in time, and is never sent twice. */
export class Line {
  private readonly scripts: Scripts;
  private readonly deadline: Deadline;
  private readonly circuits = new Circuits();
  private connecting: Promise<void> | undefined;
  /** Why there is no connection, which a command that finds none cannot tell. */
  private connectionError: Error | undefined;
  private pending = 0;
  private isClosed = false;
  /** Called when nothing is pending any more. */
  private drained: (() => void) | undefined;

  /**
   * @param bounds after how long a call is given up, unless it says otherwise
   * @param probeOf a call that a server which can decide answers, for a key that failed
   */
  constructor(
    private readonly client: StoreClient,
    private readonly servers: Servers,
    private readonly bounds: Bounds,
    private readonly probeOf: (key: string) => Call,
  ) {
    this.scripts = new Scripts(client);
    this.deadline = new Deadline(bounds.timeout);
    client.on('error', (error) => {
      this.connectionError = error;
    });
    client.on('ready', () => this.circuits.retry());
    this.connecting = firstConnection(client, bounds.connectTimeout).then(() => {
      this.connecting = undefined;
    });
  }

  /**
   * Runs a script on the server of its keys: waits for the first connection, then no longer than the
   * deadline.
   *
   * @throws DeadlineError, or what the server answered; at once, if the server is not asked: why
   */
  run(main: ScriptMain, call: Call, timeout = this.bounds.timeout): Promise<unknown> {
    if (!this.connecting) return this.ask(main, call, timeout);
    return this.connecting.then(() => this.ask(main, call, timeout));
  }

  /** Waits until the first connection stands or has failed, which opens the circuit. */
  async ready(): Promise<void> {
    await this.connecting;
    if (this.isClosed || this.client.status === 'ready') return;
    const error = this.connectionError ?? new Error('no connection yet');
    this.circuits.of('').failed(error, () => this.deadline.within(this.client.ping()), true);
  }

  watch(listener: (change: StoreChange) => void): void {
    this.circuits.watch(listener);
  }

  /** Lets what is under way be answered, which takes no longer than the deadline, and hangs up. */
  async close(): Promise<void> {
    this.isClosed = true;
    this.circuits.close();
    if (this.pending > 0) await new Promise<void>((resolve) => (this.drained = resolve));
    this.deadline.close();
    this.client.disconnect();
  }

  private ask(main: ScriptMain, call: Call, timeout: number): Promise<unknown> {
    const key = call.keys.all[0]!;
    const circuit = this.circuits.of(this.servers.of(key));
    circuit.check();
    const until = performance.now() + timeout;
    this.pending += 1;
    return this.send(main, call, timeout).then(
      (answer) => this.answered(key, circuit, answer),
      (failure: unknown) => {
        if (!isOnTheMove(failure)) throw this.failed(key, call, failure);
        return askUntilMoved((within) => this.send(main, call, within), failure, until).then(
          (answer) => this.answered(key, circuit, answer),
          (error: unknown) => {
            throw this.failed(key, call, error);
          },
        );
      },
    );
  }

  private send(main: ScriptMain, call: Call, timeout: number): Promise<unknown> {
    const deadline = timeout === this.bounds.timeout ? this.deadline : new Deadline(timeout);
    call.isSent = true;
    return deadline.within(this.scripts.run(main, call));
  }

  private answered(key: string, circuit: Circuit, answer: unknown): unknown {
    // A request of the call may have failed by what would fail all: then it is the server.
    const failure = failureIn(answer);
    if (failure && isOutage(failure)) this.noteFailure(key, failure, false);
    else circuit.succeeded();
    this.ended();
    return answer;
  }

  /** @returns what to tell of it */
  private failed(key: string, call: Call, failure: unknown): unknown {
    if (hasDoneNothing(failure)) call.isSent = false;
    const isGone = this.client.status !== 'ready';
    const error = isGone ? (this.connectionError ?? failure) : failure;
    if (isOutage(error)) this.noteFailure(key, error, isGone);
    this.ended();
    return error;
  }

  private ended(): void {
    this.pending -= 1;
    if (this.pending === 0) this.drained?.();
  }

  private noteFailure(key: string, error: unknown, isGone: boolean): void {
    if (this.isClosed) return;
    this.circuits.of(this.servers.of(key)).failed(error, () => this.probe(key), isGone);
  }

  /** Writes, as a server that is read-only, full or loading cannot. */
  private probe(key: string): Promise<unknown> {
    return this.deadline.within(this.scripts.run('block', this.probeOf(key)));
  }
}
