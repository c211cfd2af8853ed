import type { StoreChange } from '../../../contracts/base-store.js';
import { StoreFault } from '../../../contracts/store-fault.js';
import type { Call, Caller } from '../wire/call.js';
import type { CallQueue } from './call-queue.js';
import { Circuit } from './circuit.js';
import { firstConnection } from '../link/connection.js';
import type { CurrentClient } from '../link/current-client.js';
import { DeadlineError, wasNotExecuted } from '../link/deadline.js';
import { opensAtOnce } from '../link/fault.js';
import { repeatMoving } from './moving-slot.js';
import { repeatOnOtherKeys } from './probes.js';
import { decidesSome, failureIn } from '../wire/reply.js';

/** A server has its own circuit and its own queue, so that a failed server does not affect the others. */
interface Server {
  readonly circuit: Circuit;
  readonly queue: CallQueue;
}

const CLOSED = new StoreFault('connection', 'CLOSED', 'the store is closed');

/**
 * Delays calls until the first connection, rejects those to a server that cannot decide, and reports errors as faults.
 * After `close`, it rejects all calls.
 */
export class CircuitBreaker implements Caller {
  private readonly servers = new Map<string, Server>();
  private readonly listeners = new Set<(change: StoreChange) => void>();
  private probing: () => readonly Call[] = () => [];
  /** Resolves when the first connection is established or has failed; absent after that. */
  private connecting: Promise<void> | undefined;
  private pending = 0;
  /** Called when no call is pending any more. */
  private drained: (() => void) | undefined;
  private isClosed = false;

  /**
   * @param prober runs calls although a circuit is open
   * @param connectTimeout maximum time in milliseconds to wait for the first connection
   */
  constructor(
    private readonly openQueue: () => CallQueue,
    private readonly prober: Caller,
    private readonly current: CurrentClient,
    connectTimeout: number,
  ) {
    current.watch((client) => {
      client.on('ready', () => this.retry());
      if (client.status === 'ready') this.retry(); // a Cluster that has replaced one of its nodes
    });
    this.connecting = firstConnection(current.client, connectTimeout).then(() => {
      this.connecting = undefined;
    });
  }

  /** @throws StoreFault if the server fails, or immediately if its circuit is open */
  async run(call: Call): Promise<unknown> {
    if (this.connecting) await this.connecting;
    if (this.isClosed) throw CLOSED;
    this.pending += 1;
    try {
      const { cluster } = this.current;
      if (cluster) call.server = cluster.of(call.keys[0]!);
      const { circuit, queue } = this.serverOf(call.server);
      if (circuit.cause !== undefined) throw circuit.cause as Error;
      let reply: unknown;
      try {
        reply = await queue.run(call);
      } catch (error) {
        reply = await repeatMoving(queue, call, error, cluster).catch((last: unknown) => {
          throw this.failed(call, last);
        });
      }
      // Without a ready check, the reply may be from database 0 after a failed SELECT.
      const { refusal } = this.current.connection;
      if (refusal) throw this.failed(call, refusal);
      const failure = failureIn(reply);
      if (failure) {
        const fault = this.current.faultOf(this.current.serverOf(call.keys[0]!), failure);
        // A failure of one request in a call for several may concern its key only.
        if (fault.kind === 'other' && decidesSome(reply, call.requests)) circuit.succeeded();
        else this.note(call, fault);
        if (!Array.isArray(reply)) throw fault; // A list has the results of the other requests.
      } else if (circuit.hasFailed) circuit.succeeded();
      return reply;
    } finally {
      this.pending -= 1;
      if (this.pending === 0) this.drained?.();
    }
  }

  /** Waits until the first connection is established or has failed. */
  async connected(): Promise<void> {
    await this.connecting;
  }

  /** Whether the circuit breaker of a server is half open: a probe is running, or more probes have to succeed. */
  isProbing(server: string): boolean {
    return this.servers.get(server)?.circuit.isProbing ?? false;
  }

  /** Reports changes, and first the circuits that are open already: a store may outlive its limiters. */
  watch(listener: (change: StoreChange) => void): () => void {
    this.listeners.add(listener);
    queueMicrotask(() => {
      for (const [server, { circuit }] of this.servers) {
        const { cause: error } = circuit;
        if (error !== undefined && this.listeners.has(listener)) listener({ server, error });
      }
    });
    return () => void this.listeners.delete(listener);
  }

  /**
   * Probes every server.
   *
   * @param probing returns a call for each server
   */
  async ready(probing: () => readonly Call[]): Promise<void> {
    this.probing = probing;
    await this.tryAll();
  }

  /** Stops probing, rejects further calls, and waits until all pending calls have a reply or have timed out. */
  async close(): Promise<void> {
    this.isClosed = true;
    for (const { circuit } of this.servers.values()) circuit.close();
    if (this.pending > 0) await new Promise<void>((resolve) => (this.drained = resolve));
  }

  /** Probes all unavailable servers immediately, since a connection was established. */
  private retry(): void {
    for (const { circuit } of this.servers.values()) circuit.retry();
  }

  private serverOf(address: string): Server {
    const known = this.servers.get(address);
    if (known) return known;
    const queue = this.openQueue();
    const circuit = new Circuit((error) => {
      if (error !== undefined) queue.refuse(error);
      this.listeners.forEach((listener) => listener({ server: address, error }));
    });
    const server = { circuit, queue };
    this.servers.set(address, server);
    return server;
  }

  private async tryAll(): Promise<void> {
    await Promise.all(this.probing().map((call) => this.try(call)));
  }

  /** Tries everything that a call may need. An error concerns the whole server, and opens its circuit. */
  private async try(call: Call): Promise<void> {
    call.server = this.current.serverOf(call.keys[0]!);
    if (this.isClosed || this.serverOf(call.server).circuit.isOpen) return;
    await this.probe(call, call.server, true).catch((fault: unknown) => this.open(call, fault as StoreFault));
  }

  /** Repeats a call on separate keys of its server: succeeds only if decisions would, or if no key is left there. */
  private async probe(call: Call, server: string, isStarting = false): Promise<void> {
    const { current } = this;
    try {
      if (await current.settle()) {
        await this.tryAll();
        return;
      }
      const key = current.keyOn(server, call.keys[0]!);
      const timeout = isStarting ? current.replyTimeout : undefined;
      if (key !== undefined) await repeatOnOtherKeys(this.prober, current, call, key, timeout);
    } catch (error) {
      throw current.faultOfCall(server, error);
    }
  }

  /**
   * Counts a failure, unless the call was never written, or timed out while other replies arrived in time.
   *
   * @returns the fault to report
   */
  private failed(call: Call, error: unknown): StoreFault {
    if (wasNotExecuted(error)) call.isSent = false;
    const fault = this.current.faultOfCall(this.current.serverOf(call.keys[0]!), error);
    const isSlow = call.isSlow && error instanceof DeadlineError;
    if (!this.current.connection.isReady) this.open(call, fault);
    else if (call.reply !== undefined && !isSlow) this.note(call, fault);
    return fault;
  }

  /** Counts a failure if it concerns the server. A moving slot does not. */
  private note(call: Call, fault: StoreFault): void {
    // A server that rejects a heartbeat, for lack of rights or memory, may still decide.
    const decides = call.main !== 'heartbeat';
    if (opensAtOnce(fault) && (decides || fault.kind === 'connection')) this.open(call, fault);
    const circuit = this.circuitOf(call, fault);
    const { server } = call;
    if (fault.kind === 'timeout') circuit?.failed(fault, () => this.probe(call, server), false);
    if (fault.kind === 'other' && decides)
      circuit?.failedOn(call.keys[0]!, fault, () => this.probe(call, server));
  }

  private open(call: Call, fault: StoreFault): void {
    const { server } = call;
    this.circuitOf(call, fault)?.failed(fault, () => this.probe(call, server), true);
  }

  /**
   * Returns the circuit that a fault concerns. There is none if the slot has moved, or if the server is connected after all:
   * then the fault is that of a server to which the call was redirected, and the next call is sent to that one directly.
   */
  private circuitOf({ server, keys }: Call, { kind }: StoreFault): Circuit | undefined {
    const { cluster } = this.current;
    if (this.isClosed || this.current.serverOf(keys[0]!) !== server) return undefined;
    if (kind === 'connection' && cluster?.nodeOf(server)) return undefined;
    return this.serverOf(server).circuit;
  }
}
