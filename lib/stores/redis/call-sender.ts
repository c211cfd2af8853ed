import type { StoreChange } from '../../contracts/store.js';
import { StoreFault } from '../../contracts/store-fault.js';
import { Call } from './call.js';
import { Circuits } from './circuits.js';
import type { Bounds } from './bounded-options.js';
import { addressOf, firstConnection } from './connection.js';
import { ConnectionState } from './connection-state.js';
import { Deadline, DeadlineError } from './deadline.js';
import { CallQueue } from './call-queue.js';
import { isMoving, sendUntilMoved } from './moving-slot.js';
import { faultOf, opensAtOnce } from './fault.js';
import { wasNotExecuted } from './not-executed.js';
import { failureIn } from './reply.js';
import { Functions, type LuaForm } from './functions.js';
import type { Library } from './library.js';
import type { Site } from './site.js';

/** A new call is rejected while another one has waited to be written for this many timeouts. */
const LONGEST_WAIT = 40;

/** A connection on which no reply arrives for this long is closed, so that a new one is opened. */
const SILENCE_MS = 2000;

const CLOSED = new StoreFault('connection', 'CLOSED', 'the store is closed');

/**
 * Sends calls to Redis. A call passes the circuit breaker of its server, waits in the server's queue, and is written
 * once; its deadline starts then. It is never sent twice.
 */
export class CallSender {
  private functions!: Functions;
  private readonly deadline: Deadline;
  private readonly silence: Deadline;
  private readonly circuits = new Circuits();
  private readonly queues = new Map<string, CallQueue>();
  private connection!: ConnectionState;
  private connecting: Promise<void> | undefined;
  private trials: () => readonly Call[] = () => [];
  private pending = 0;
  private closing: Promise<void> | undefined;
  /** Called when no call is pending any more. */
  private drained: (() => void) | undefined;

  /**
   * @param bounds the time limits of calls without their own
   * @param library the functions that run the calls; if absent, scripts do
   * @param known called with the form in which a server runs calls, when that is known
   */
  constructor(
    private readonly site: Site,
    private readonly bounds: Bounds,
    library: Library | undefined,
    known: (form: LuaForm) => void,
  ) {
    this.deadline = new Deadline(bounds.timeout);
    this.silence = new Deadline(Math.max(SILENCE_MS, 5 * bounds.timeout));
    site.watch((client) => {
      this.functions = new Functions(client, library, known);
      this.connection = new ConnectionState(client);
      client.on('ready', () => this.circuits.retry());
    });
    this.connecting = firstConnection(site.client, bounds.connectTimeout).then(() => {
      this.connecting = undefined;
    });
    this.circuits.watch(({ server, error }) => {
      if (error !== undefined) this.queues.get(server)?.refuse(error);
    });
  }

  /**
   * Runs a call on the server of its keys: waits for the first connection and for its turn, then at most for the
   * timeout.
   *
   * @param timeout milliseconds; by default that of the store
   * @throws StoreFault if the server fails, or immediately if its circuit breaker is open
   */
  run(call: Call, timeout?: number): Promise<unknown> {
    if (!this.connecting) return this.send(call, timeout);
    return this.connecting.then(() => this.send(call, timeout));
  }

  /** Waits until the first connection is established or has failed. */
  async connected(): Promise<void> {
    await this.connecting;
  }

  /**
   * Waits for the first connection, and probes every server as its circuit breaker does.
   *
   * @param trials returns a call for each server
   */
  async ready(trials: () => readonly Call[]): Promise<void> {
    await this.connecting;
    this.trials = trials;
    await this.tryAll();
  }

  /** Tries everything that a call may need. An error concerns the whole server, and opens its circuit breaker. */
  private async try(call: Call): Promise<void> {
    const server = this.serverOf(call);
    if (this.closing || this.circuits.of(server).isOpen) return;
    try {
      if (await this.site.settle()) await this.tryAll();
      else await this.repeat(call, this.site.replyTimeout);
    } catch (error) {
      this.open(server, call, this.reasonOf(server, error));
    }
  }

  watch(listener: (change: StoreChange) => void): void {
    this.circuits.watch(listener);
  }

  /** Closes the connection when all pending calls have a reply or have timed out. */
  close(): Promise<void> {
    return (this.closing ??= this.drainAndHangUp());
  }

  private async tryAll(): Promise<void> {
    await Promise.all(this.trials().map((call) => this.try(call)));
  }

  private async drainAndHangUp(): Promise<void> {
    this.circuits.close();
    if (this.pending > 0) await new Promise<void>((resolve) => (this.drained = resolve));
    this.deadline.close();
    this.silence.close();
    this.site.close();
  }

  /** compose(circuitBreaker, queue, deadline)(script) */
  private send(call: Call, timeout: number | undefined): Promise<unknown> {
    if (this.closing) return Promise.reject(CLOSED);
    const server = this.serverOf(call);
    this.circuits.of(server).check();
    const queue = this.queueOf(server);
    const answered = (answer: unknown): unknown => this.answered(server, call, answer);
    const failed = (failure: unknown): never => {
      const isSlow =
        failure instanceof DeadlineError && (timeout !== undefined || !queue.isSilentSince(call));
      throw this.failed(server, call, failure, isSlow);
    };
    this.pending += 1;
    return queue.send(call, timeout).then(answered, (failure: unknown) => {
      if (!isMoving(failure, call)) return failed(failure);
      const until = call.writtenAt + (timeout ?? this.bounds.timeout);
      const send = (within: number): Promise<unknown> => queue.send(call, within);
      return sendUntilMoved(call, send, failure, until).then(answered, failed);
    });
  }

  private serverOf({ keys }: Call): string {
    return this.site.servers.of(keys.all[0]!);
  }

  private queueOf(server: string): CallQueue {
    const known = this.queues.get(server);
    if (known) return known;
    const write = (call: Call, timeout?: number): Promise<unknown> => this.write(call, timeout, server);
    const queue = new CallQueue(write, () => this.deadline.now, LONGEST_WAIT * this.bounds.timeout);
    this.queues.set(server, queue);
    return queue;
  }

  private write(call: Call, timeout: number | undefined, server: string): Promise<unknown> {
    call.isSent = true;
    const until = performance.now() + (timeout ?? this.bounds.timeout);
    call.reply = this.functions.run(call, server, until);
    if (timeout !== undefined) return new Deadline(timeout).within(call.reply);
    return this.deadline.within(call.reply, () => this.expectLate(call.reply!, server));
  }

  /** Waits for a late reply. Without any reply, the connection may have been cut unnoticed. */
  private expectLate(reply: Promise<unknown>, server: string): void {
    if (this.silence.isWaiting) return;
    this.silence
      .within(reply, () => this.site.servers.hangUp(server))
      .catch((error: unknown) => {
        if (error instanceof DeadlineError) this.connection.gaveUp(error);
      });
  }

  private answered(server: string, call: Call, answer: unknown): unknown {
    const { refusal } = this.connection;
    if (refusal) throw this.failed(server, call, refusal, false);
    const failure = failureIn(answer);
    if (failure) this.noteFailure(server, call, this.faultOf(server, failure));
    else this.circuits.of(server).succeeded();
    this.ended();
    return answer;
  }

  /**
   * Counts a failure for the circuit breaker, unless the call was never written.
   *
   * @param isSlow whether it timed out while other replies arrived in time, or had a shorter timeout
   * @returns the error to report
   */
  private failed(server: string, call: Call, failure: unknown, isSlow: boolean): unknown {
    const isWritten = call.reply !== undefined;
    if (wasNotExecuted(failure)) call.isSent = false;
    const fault = this.reasonOf(server, failure);
    if (!this.connection.isReady) this.open(server, call, fault);
    else if (isWritten && !isSlow) this.noteFailure(server, call, fault);
    this.ended();
    return fault;
  }

  private ended(): void {
    this.pending -= 1;
    if (this.pending === 0) this.drained?.();
  }

  /** Counts a failure if it concerns the server. A moving slot does not. */
  private noteFailure(server: string, call: Call, fault: StoreFault): void {
    // A server that rejects a heartbeat, for lack of rights or memory, may still decide.
    const decides = call.main !== 'heartbeat';
    if (opensAtOnce(fault) && (decides || fault.kind === 'connection')) this.open(server, call, fault);
    if (this.closing) return;
    const circuit = this.circuits.of(server);
    if (fault.kind === 'timeout') circuit.failed(fault, () => this.probe(call), false);
    if (fault.kind === 'other' && decides) circuit.failedOn(call.keys.all[0]!, fault, () => this.probe(call));
  }

  private open(server: string, call: Call, fault: StoreFault): void {
    if (this.closing) return;
    this.circuits.of(server).failed(fault, () => this.probe(call), true);
  }

  /** Returns the fault for an error of one request of a call. */
  faultIn(call: Call, error: unknown): StoreFault {
    return this.faultOf(this.serverOf(call), error);
  }

  /** Returns the fault for an error reply about a key that messages may contain. */
  faultOn(key: string, error: unknown): StoreFault {
    const { client, servers } = this.site;
    const prefix = String(client.options?.keyPrefix ?? '');
    const server = servers.of(key);
    return faultOf(error, server || addressOf(client), { key: prefix + key, of: server });
  }

  private faultOf(server: string, error: unknown): StoreFault {
    const fault = faultOf(error, server || addressOf(this.site.client), {
      clientState: this.connection,
      of: server,
    });
    if (fault.code === 'MOVED') this.site.isNode = true;
    return fault;
  }

  /** Returns the fault for an error; without a connection, why there is none. */
  private reasonOf(server: string, error: unknown): StoreFault {
    return this.faultOf(server, this.connection.reasonOf(error));
  }

  /** Returns the error of a reply. Without a ready check, it may be from database 0 after a failed SELECT. */
  private failureIn(reply: unknown): Error | undefined {
    return this.connection.refusal ?? failureIn(reply);
  }

  /** Repeats a failed call on separate keys, which are deleted after it: succeeds only if decisions would. */
  private async probe(call: Call): Promise<void> {
    try {
      if (await this.site.settle()) await this.tryAll();
      await this.repeat(call);
    } catch (error) {
      throw this.reasonOf(this.serverOf(call), error);
    }
  }

  /** @param timeout milliseconds for each call; by default that of the store */
  private async repeat(call: Call, timeout?: number): Promise<void> {
    const { probes } = call;
    const server = this.serverOf(call);
    try {
      for (const probe of probes) {
        const failure = this.failureIn(await this.write(probe, timeout, server));
        if (failure) throw failure;
      }
    } finally {
      const reset = new Call(call.now, 'reset');
      for (const { keys } of probes) for (const key of keys.all) reset.keys.add(key);
      // Keys that cannot be deleted expire.
      if (this.site.client.status === 'ready') this.write(reset, undefined, server).catch(() => undefined);
    }
  }
}
