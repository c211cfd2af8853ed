import { nextTick } from 'node:process';
import { setImmediate } from 'node:timers';
import { MOST_KEYS, type DecideOptions, type Hit, type HitResult } from '../../contracts/store.js';
import { StoreFault } from '../../contracts/store-fault.js';
import { Call } from './call.js';
import { takeBack, type Refund, type Request } from './lost-calls.js';
import { ReplyReader, type DecideReply } from './reply.js';
import type { Servers } from './servers.js';

interface Waiting extends Request {
  readonly resolve: (results: readonly HitResult[]) => void;
  readonly reject: (error: unknown) => void;
}

/** Requests that were made in one turn of the event loop, on their way as one call. */
class Batch {
  private readonly waiting: Waiting[] = [];

  constructor(readonly call: Call) {}

  add(hits: readonly Hit[], options: DecideOptions): Promise<readonly HitResult[]> {
    this.call.addRequest(hits, options);
    return new Promise((resolve, reject) => this.waiting.push({ hits, options, resolve, reject }));
  }

  /** Its requests one by one, if another one may be why they failed: its keys are on two servers of a Cluster. */
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
    takeBack(this.call, this.waiting, refund);
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
 * Sends the requests of one turn of the event loop together, to each place as one call: each is decided
 * by itself, and none waits for another turn.
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

  /** @param place what can be decided by one script: a slot */
  decide(place: number, hits: readonly Hit[], options: DecideOptions): Promise<readonly HitResult[]> {
    return this.batch(place, keysOf(hits, options)).add(hits, options);
  }

  /** Sends what waits now, so that what is asked for afterwards comes after it. */
  readonly flush = (): void => {
    if (this.open.size === 0) return;
    const batches = this.open;
    // A new one, since V8 chains the tables of a map that is cleared, and would keep all that were in them.
    this.open = new Map();
    const send = (): void => batches.forEach((batch) => void this.send(batch));
    if (batches.size === 1) send();
    else this.site.servers.sendTogether(send);
  };

  private batch(place: number, keys: number): Batch {
    const now = this.now();
    const known = this.open.get(place);
    if (known && known.call.keys.meant + keys <= MOST_KEYS && known.call.now === now) return known;
    const batch = new Batch(new Call(now));
    if (this.open.size === 0) this.flushSoon();
    // Timelines that are replayed, and bursts, have more than one a turn.
    if (known) void this.send(known);
    this.open.set(place, batch);
    return batch;
  }

  /** At the end of the turn; when Redis has nothing to do for us, as soon as all that runs has asked. */
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
