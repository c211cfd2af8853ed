import { nextTick } from 'node:process';
import { setImmediate } from 'node:timers';
import { MOST_KEYS, type DecideOptions, type Hit, type HitResult } from '../../contracts/store.js';
import { StoreFault } from '../../contracts/store-fault.js';
import { Call } from './call.js';
import { refundLost, type Refund, type Request } from './lost-calls.js';
import { ReplyReader, type DecideReply } from './reply.js';
import type { Servers } from './servers.js';

interface Waiting extends Request {
  readonly resolve: (results: readonly HitResult[]) => void;
  readonly reject: (error: unknown) => void;
}

/** The requests of one turn of the event loop, sent as one call. */
class Batch {
  private readonly waiting: Waiting[] = [];

  constructor(readonly call: Call) {}

  add(hits: readonly Hit[], options: DecideOptions): Promise<readonly HitResult[]> {
    this.call.addRequest(hits, options);
    return new Promise((resolve, reject) => this.waiting.push({ hits, options, resolve, reject }));
  }

  /** Returns batches of one request each if the call failed because the keys of one request are on two servers. */
  partsAfter(error: unknown): readonly Batch[] {
    if (!(error instanceof StoreFault && error.kind === 'moving')) return [];
    return this.waiting.map((request) => {
      const part = new Batch(new Call(this.call.now));
      part.call.addRequest(request.hits, request.options);
      part.waiting.push(request);
      return part;
    });
  }

  fail(error: unknown, refund: Refund): void {
    refundLost(this.call, this.waiting, refund);
    for (const { reject } of this.waiting) reject(error);
  }

  /** @param faultIn the fault behind an error of one request */
  answer(reply: DecideReply, faultIn: (call: Call, error: unknown) => StoreFault): void {
    const reader = new ReplyReader(reply);
    for (const { hits, resolve, reject } of this.waiting) {
      try {
        resolve(reader.next(hits.length));
      } catch (error) {
        reject(faultIn(this.call, error));
      }
    }
  }
}

/**
 * Batches the requests of one turn of the event loop: one call per slot. Each request is decided separately, and none
 * waits for another turn.
 */
export class Batches {
  private open = new Map<number, Batch>();
  private underWay = 0;

  constructor(
    private readonly now: () => number | '',
    private readonly run: (call: Call) => Promise<unknown>,
    private readonly site: { readonly servers: Pick<Servers, 'sendTogether'> },
    private readonly refund: Refund,
    private readonly faultIn: (call: Call, error: unknown) => StoreFault,
  ) {}

  /** @param slot the slot of the keys */
  decide(slot: number, hits: readonly Hit[], options: DecideOptions): Promise<readonly HitResult[]> {
    return this.batch(slot, keysOf(hits, options)).add(hits, options);
  }

  /** Sends the waiting requests now, so that later calls are executed after them. */
  readonly flush = (): void => {
    if (this.open.size === 0) return;
    const batches = this.open;
    // A new map, since V8 chains the tables of a cleared map and would retain its entries.
    this.open = new Map();
    const send = (): void => batches.forEach((batch) => void this.send(batch));
    if (batches.size === 1) send();
    else this.site.servers.sendTogether(send);
  };

  private batch(slot: number, keys: number): Batch {
    const now = this.now();
    const known = this.open.get(slot);
    if (known && known.call.keys.meant + keys <= MOST_KEYS && known.call.now === now) return known;
    const batch = new Batch(new Call(now));
    if (this.open.size === 0) this.flushSoon();
    // Replayed timelines and bursts fill more than one batch in a turn.
    if (known) void this.send(known);
    this.open.set(slot, batch);
    return batch;
  }

  /** Sends the batches at the end of the turn; if no call is pending, as soon as the running code has finished. */
  private flushSoon(): void {
    if (this.underWay === 0) nextTick(this.flush);
    else setImmediate(this.flush);
  }

  private async send(batch: Batch): Promise<void> {
    this.underWay += 1;
    let reply: unknown;
    try {
      reply = await this.run(batch.call);
    } catch (error) {
      const parts = batch.partsAfter(error);
      if (parts.length > 1) for (const part of parts) void this.send(part);
      else batch.fail(error, this.refund);
      return;
    } finally {
      this.underWay -= 1;
    }
    batch.answer(reply as DecideReply, this.faultIn);
  }
}

function keysOf(hits: readonly Hit[], { prefetch }: DecideOptions): number {
  let keys = prefetch ? 2 * hits.length : hits.length;
  for (const { block } of hits) if (block) keys += 1;
  return keys;
}
