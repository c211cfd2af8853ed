import type { StoreChange } from '../../contracts/store.js';
import type { StoreFault } from '../../contracts/store-fault.js';
import { Call } from './call.js';
import type { Circuit } from './circuit.js';
import { Circuits } from './circuits.js';
import type { Bounds } from './bounded-options.js';
import { addressOf, firstConnection, type StoreClient } from './connection.js';
import { Deadline, DeadlineError } from './deadline.js';
import { Lane } from './lane.js';
import { askUntilMoved, isOnTheMove } from './moving-slot.js';
import { faultOf, opensAtOnce } from './fault.js';
import { hasDoneNothing } from './refund-retries.js';
import { failureIn } from './reply.js';
import { Scripts } from './scripts.js';
import type { Servers } from './servers.js';

/** A new call is refused while another one has waited for so many timeouts, to be written. */
const LONGEST_WAIT = 40;

/** A connection on which nothing has come for so long is given up, so that a new one is made. */
const SILENCE_MS = 2000;

/**
 * The way to Redis. A call passes the circuit breaker of its server, waits in the server's lane until there is
 * room on the wire, is written, and has its deadline from then on. It is never sent twice.
 */
export class Line {
  private readonly scripts: Scripts;
  private readonly deadline: Deadline;
  private readonly silence: Deadline;
  private readonly circuits = new Circuits();
  private readonly lanes = new Map<string, Lane>();
  private connecting: Promise<void> | undefined;
  /** Why there is no connection, which a command that finds none cannot tell. */
  private connectionError: Error | undefined;
  private pending = 0;
  private closing: Promise<void> | undefined;
  /** Called when nothing is pending any more. */
  private drained: (() => void) | undefined;

  /**
   * @param bounds after how long a call is given up, unless it says otherwise
   */
  constructor(
    private readonly client: StoreClient,
    private readonly servers: Servers,
    private readonly bounds: Bounds,
  ) {
    this.scripts = new Scripts(client);
    this.deadline = new Deadline(bounds.timeout);
    this.silence = new Deadline(Math.max(SILENCE_MS, 5 * bounds.timeout));
    client.on('error', (error) => {
      this.connectionError = error;
    });
    client.on('ready', () => this.circuits.retry());
    this.connecting = firstConnection(client, bounds.connectTimeout).then(() => {
      this.connecting = undefined;
    });
    this.circuits.watch(({ server, error }) => {
      if (error !== undefined) this.lanes.get(server)?.refuse(error);
    });
  }

  /**
   * Runs a script on the server of its keys: waits for the first connection and for room on the wire, then no
   * longer than the deadline.
   *
   * @param timeout milliseconds, if not the usual ones
   * @throws DeadlineError, or what the server answered; at once, if the server is not asked: why
   */
  run(call: Call, timeout?: number): Promise<unknown> {
    if (!this.connecting) return this.send(call, timeout);
    return this.connecting.then(() => this.send(call, timeout));
  }

  /** Waits until the first connection stands or has failed, which opens the circuit. */
  async ready(): Promise<void> {
    await this.connecting;
    if (this.closing || this.client.status === 'ready') return;
    const fault = this.faultOf('', this.connectionError ?? new Error('no connection yet'));
    this.circuits.of('').failed(fault, () => this.deadline.within(this.client.ping()), true);
  }

  /**
   * Runs a call that any server in order answers. Whatever it fails by is about the server.
   *
   * @param timeout in milliseconds
   */
  async try(call: Call, timeout: number): Promise<void> {
    const key = call.keys.all[0]!;
    const server = this.servers.of(key);
    if (this.closing || this.circuits.of(server).isOpen) return;
    try {
      const failure = failureIn(await this.write(call, timeout, server));
      if (failure) throw failure;
    } catch (error) {
      if (!this.closing) this.open(call, this.faultOf(server, error));
    }
  }

  watch(listener: (change: StoreChange) => void): void {
    this.circuits.watch(listener);
  }

  /** Lets what is under way be answered or time out, and closes the connection. */
  close(): Promise<void> {
    return (this.closing ??= this.drainAndHangUp());
  }

  private async drainAndHangUp(): Promise<void> {
    this.circuits.close();
    if (this.pending > 0) await new Promise<void>((resolve) => (this.drained = resolve));
    this.deadline.close();
    this.silence.close();
    this.client.disconnect();
  }

  /** compose(circuitBreaker, lane, deadline)(script) */
  private send(call: Call, timeout: number | undefined): Promise<unknown> {
    if (this.closing) return Promise.reject(new Error('the store is closed'));
    const key = call.keys.all[0]!;
    const server = this.servers.of(key);
    const circuit = this.circuits.of(server);
    circuit.check();
    const lane = this.laneOf(server);
    const answered = (answer: unknown): unknown => this.answered(call, circuit, answer);
    const failed = (failure: unknown): never => {
      const isSlow = failure instanceof DeadlineError && (timeout !== undefined || !lane.isSilentSince(call));
      throw this.failed(call, failure, isSlow);
    };
    this.pending += 1;
    return lane.send(call, timeout).then(answered, (failure: unknown) => {
      if (call.isShared || !isOnTheMove(failure)) return failed(failure);
      const until = call.writtenAt + (timeout ?? this.bounds.timeout);
      return askUntilMoved((within) => lane.send(call, within), failure, until).then(answered, failed);
    });
  }

  private laneOf(server: string): Lane {
    const known = this.lanes.get(server);
    if (known) return known;
    const write = (call: Call, timeout?: number): Promise<unknown> => this.write(call, timeout, server);
    const lane = new Lane(write, () => this.deadline.now, LONGEST_WAIT * this.bounds.timeout);
    this.lanes.set(server, lane);
    return lane;
  }

  private write(call: Call, timeout: number | undefined, server: string): Promise<unknown> {
    call.isSent = true;
    call.reply = this.scripts.run(call);
    if (timeout !== undefined) return new Deadline(timeout).within(call.reply);
    return this.deadline.within(call.reply, () => this.expectLate(call.reply!, server));
  }

  /** A reply that is late may still come; without any, the connection may be cut where nobody sees it. */
  private expectLate(reply: Promise<unknown>, server: string): void {
    if (this.silence.isWaiting) return;
    this.silence.within(reply, () => this.servers.hangUp(server)).catch(() => undefined);
  }

  private answered(call: Call, circuit: Circuit, answer: unknown): unknown {
    const failure = failureIn(answer);
    if (failure) this.noteFailure(call, this.faultOf(this.servers.of(call.keys.all[0]!), failure));
    else circuit.succeeded();
    this.ended();
    return answer;
  }

  /**
   * Counts a failure for the breaker, unless the call was never written.
   *
   * @param isSlow whether it timed out while others were answered in time, or had less than the usual time
   * @returns what to report
   */
  private failed(call: Call, failure: unknown, isSlow: boolean): unknown {
    const isWritten = call.reply !== undefined;
    if (hasDoneNothing(failure)) call.isSent = false;
    const isGone = this.client.status !== 'ready';
    const fault = this.faultOf(
      this.servers.of(call.keys.all[0]!),
      isGone ? (this.connectionError ?? failure) : failure,
    );
    if (isGone) this.open(call, fault);
    else if (isWritten && !isSlow) this.noteFailure(call, fault);
    this.ended();
    return fault;
  }

  private ended(): void {
    this.pending -= 1;
    if (this.pending === 0) this.drained?.();
  }

  /** Counts a failure by what it says about the server. A slot on the move says nothing. */
  private noteFailure(call: Call, fault: StoreFault): void {
    const decides = call.main !== 'heartbeat'; // What a heartbeat is refused, decisions may be granted.
    if (opensAtOnce(fault) && (decides || fault.kind !== 'access')) this.open(call, fault);
    if (this.closing) return;
    const key = call.keys.all[0]!;
    const circuit = this.circuits.of(this.servers.of(key));
    if (fault.kind === 'timeout') circuit.failed(fault, () => this.probe(call), false);
    if (fault.kind === 'other' && decides) circuit.failedOn(key, fault, () => this.probe(call));
  }

  private open(call: Call, fault: StoreFault): void {
    if (this.closing) return;
    this.circuits.of(this.servers.of(call.keys.all[0]!)).failed(fault, () => this.probe(call), true);
  }

  private faultOf(server: string, error: unknown): StoreFault {
    return faultOf(error, server || addressOf(this.client));
  }

  /** Does what has failed on keys of its own, and leaves nothing behind: succeeds only if decisions would. */
  private async probe(call: Call): Promise<void> {
    const { probes } = call;
    const [{ keys, now }] = probes as [Call];
    const server = this.servers.of(keys.all[0]!);
    try {
      for (const probe of probes) {
        const failure = failureIn(await this.write(probe, undefined, server));
        if (failure) throw failure;
      }
    } finally {
      const reset = new Call(now, 'reset');
      for (const key of keys.all) reset.keys.add(key);
      // What cannot be deleted ends by itself.
      if (this.client.status === 'ready') this.write(reset, undefined, server).catch(() => undefined);
    }
  }
}
