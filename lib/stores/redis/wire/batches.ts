import { setImmediate } from 'node:timers';
import {
  MOST_KEYS,
  isDenied,
  type DecideOptions,
  type Hit,
  type HitResult,
} from '../../../contracts/store.js';
import type { BaseStore, SharedStore } from '../../../contracts/base-store.js';
import { StoreFault } from '../../../contracts/store-fault.js';
import { entryOf } from '../../../contracts/entry-of.js';
import { Call, type CallClock, type Request, type Caller } from './call.js';
import type { CurrentClient } from '../link/current-client.js';
import type { Adjuster } from './adjuster.js';
import { refundLost } from './lost-calls.js';
import { ReplyReader } from './reply.js';
import { undo } from '../../../contracts/undo.js';

/** A request that waits for its results. */
class WaitingRequest implements Request {
  readonly results: Promise<readonly HitResult[]>;
  resolve!: (results: readonly HitResult[]) => void;
  reject!: (error: unknown) => void;

  constructor(
    readonly hits: readonly Hit[],
    readonly options: DecideOptions,
  ) {
    this.results = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }
}

/** Instead of the slot of a batch whose keys are in several. */
const SEVERAL = -1;

/** The requests of one turn of the event loop, sent as one call. */
class Batch {
  /** Number of its keys, including duplicates. */
  keys = 0;
  // No array literal, see docs/adr/0111-no-literals-for-what-waits.md.
  private readonly requests = new Array<WaitingRequest>();
  /** The slot of its keys, or `SEVERAL`. */
  private slot: number | undefined;

  /** @param timeout in milliseconds; by default that of the store */
  constructor(
    readonly now: Call['now'],
    private readonly timeout?: number,
  ) {}

  /** Adds a request with this number of keys in a slot. Returns its results. */
  add(hits: readonly Hit[], options: DecideOptions, keys: number, slot = 0): Promise<readonly HitResult[]> {
    this.keys += keys;
    this.slot = slot === (this.slot ?? slot) ? slot : SEVERAL;
    const request = new WaitingRequest(hits, options);
    this.requests.push(request);
    return request.results;
  }

  call(): Call {
    const call = new Call(this.now, this.slot === SEVERAL ? 'across' : 'decide');
    call.timeout = this.timeout;
    call.addRequests(this.requests);
    return call;
  }

  /** Returns a batch for each slot, or for each request of one slot, if the call failed since not all keys are on one server. */
  partsAfter(error: unknown, slotOf?: (key: string) => number): ReadonlyMap<unknown, Batch> {
    const parts = new Map<unknown, Batch>();
    if (!(error instanceof StoreFault && error.kind === 'moving')) return parts;
    for (const request of this.requests) {
      const group = this.slot === SEVERAL ? slotOf?.(request.hits[0]!.key) : request;
      entryOf(parts, group, () => new Batch(this.now, this.timeout)).requests.push(request);
    }
    return parts;
  }

  fail(error: unknown): void {
    for (const { reject } of this.requests) reject(error);
  }

  answer(reply: unknown, server: string, current: CurrentClient): void {
    const reader = new ReplyReader(reply, this.requests);
    for (const request of this.requests) {
      try {
        request.resolve(reader.next(request));
      } catch (error) {
        request.reject(current.faultOf(server, error));
      }
    }
  }
}

/** With fewer calls in flight, Redis is idle while the process handles replies. */
const CALLS_IN_FLIGHT = 2;

/** Keys with which a call is sent early if fewer calls are in flight. See docs/adr/0108-two-calls-in-flight.md. */
const EARLY_KEYS = 32;

/**
 * Batches the requests of one turn of the event loop: one call per server, or several if there are many. Each
 * request is decided separately, and none waits for another turn.
 */
export class Batches implements Caller {
  /** The batches by the server or the slot of their keys. */
  private open = new Map<string | number, Batch>();
  private underWay = 0;
  /** The reply to the last call for several slots to each server. */
  private readonly lastAcross = new Map<string, Promise<unknown>>();

  constructor(
    private readonly next: Caller,
    private readonly adjuster: Adjuster,
    private readonly current: CurrentClient,
    private readonly now: CallClock,
  ) {
    current.beforeReplaced = this.flush;
  }

  /** Decides hits whose keys are in one slot: in a batch, or alone if they have a deadline of their own. */
  decide(hits: readonly Hit[], options: DecideOptions): Promise<readonly HitResult[]> {
    if (options.within !== undefined) return this.decideAlone(hits, options);
    const { cluster } = this.current;
    const keys = keysOf(hits, options);
    if (!cluster) return this.batch(0, keys).add(hits, options, keys);
    const slot = cluster.slotOf(hits[0]!.key);
    return this.batch(cluster.groupOf(slot), keys).add(hits, options, keys, slot);
  }

  /** Runs a call after the requests that were made before it. */
  async run(call: Call): Promise<unknown> {
    this.flush();
    const last = this.lastAcross.get(this.current.serverOf(call.keys[0]!));
    if (last) await last.catch(() => undefined); // If it was refused, its requests are now repeated.
    return this.next.run(call);
  }

  /** Sends the waiting requests now, so that later calls are executed after them. */
  readonly flush = (): void => {
    if (this.open.size === 0) return;
    const batches = this.open;
    // A new map, since V8 chains the tables of a cleared map and would retain its entries.
    this.open = new Map();
    this.sendAll(batches);
  };

  private sendAll(batches: ReadonlyMap<unknown, Batch>): void {
    const send = (): void => batches.forEach((batch) => void this.send(batch));
    const { cluster } = this.current;
    if (cluster && batches.size > 1) cluster.sendTogether(send);
    else send();
  }

  private decideAlone(hits: readonly Hit[], options: DecideOptions): Promise<readonly HitResult[]> {
    const batch = new Batch(this.now?.(), options.within);
    const results = batch.add(hits, options, keysOf(hits, options));
    this.flush();
    void this.send(batch);
    return results;
  }

  private batch(group: string | number, keys: number): Batch {
    const now = this.now?.();
    const known = this.open.get(group);
    const most = this.underWay < CALLS_IN_FLIGHT ? EARLY_KEYS : MOST_KEYS;
    if (known && known.keys + keys <= most && known.now === now) return known;
    if (this.open.size === 0) setImmediate(this.flush);
    const batch = new Batch(now);
    // Replayed timelines and bursts fill more than one batch in a turn.
    if (known) void this.send(known);
    this.open.set(group, batch);
    return batch;
  }

  private async send(batch: Batch): Promise<void> {
    this.underWay += 1;
    const call = batch.call();
    try {
      const reply = this.next.run(call);
      if (call.main === 'across') this.lastAcross.set(call.server, reply);
      batch.answer(await reply, call.server, this.current);
    } catch (error) {
      refundLost(call, this.adjuster);
      const { cluster } = this.current;
      const parts = batch.partsAfter(error, cluster?.slotOf);
      if (call.main === 'across' && parts.size > 1) cluster?.separateSlots();
      if (parts.size > 1) this.sendAll(parts);
      else batch.fail(error);
    } finally {
      this.underWay -= 1;
    }
  }
}

function keysOf(hits: readonly Hit[], { prefetch }: DecideOptions): number {
  let keys = prefetch ? 2 * hits.length : hits.length;
  for (const { block } of hits) if (block) keys += 1;
  return keys;
}

/**
 * Decides hits whose keys are in several slots of a Cluster, with one call per slot in parallel. If one denies, the
 * charges of the others are refunded. docs/adr/0013-across-slots.md describes what other clients can see meanwhile.
 *
 * @param next decides the hits of one slot
 * @param store refunds the charges of the others, and decides them again
 * @returns the results; those of a slot that could not decide are `unavailable`
 */
export async function decideParts(
  next: Pick<Batches, 'decide'>,
  store: Pick<BaseStore & SharedStore, 'decide' | 'adjust' | 'timeout' | 'awake'>,
  hits: readonly Hit[],
  parts: readonly (readonly Hit[])[],
  options: DecideOptions,
): Promise<readonly HitResult[]> {
  const { timeout, awake } = store;
  const startedAt = awake();
  const settled = await Promise.allSettled(parts.map((part) => next.decide(part, options)));
  const results = new Map<Hit, HitResult>();
  const charged = new Set<Hit>();
  for (const [nth, part] of parts.entries()) {
    const outcome = settled[nth]!;
    const ofPart = outcome.status === 'fulfilled' ? outcome.value : undefined;
    const isCharged = ofPart !== undefined && !isDenied(part, ofPart);
    for (const [index, hit] of part.entries()) {
      results.set(hit, ofPart?.[index] ?? unavailable((outcome as PromiseRejectedResult).reason));
      if (isCharged) charged.add(hit);
    }
  }
  const inOrder = hits.map((hit) => results.get(hit)!);
  const areDenied = hits.some((hit, index) => isDenial(inOrder[index]!) && !hit.shadow);
  const { dryRun = false, peek = false } = options;
  if ((dryRun && !peek) || !areDenied || charged.size === 0) return inOrder;
  const within = Math.max(1, timeout - (awake() - startedAt));
  return undo(store, hits, inOrder, (hit) => charged.has(hit), { within, peek });
}

function isDenial({ allowed, unavailable }: HitResult): boolean {
  return !allowed && unavailable === undefined;
}

function unavailable(reason: unknown): HitResult {
  const denied = { allowed: false, remaining: 0, retryAfter: null, resetAfter: 0, delay: 0 };
  return { ...denied, source: 'redis', now: 0, unavailable: reason ?? new Error('unknown') };
}
