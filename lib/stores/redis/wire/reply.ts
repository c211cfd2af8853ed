import type { SharePart } from '../../../contracts/algorithm.js';
import type { Alerts, Hit, HitResult } from '../../../contracts/store.js';

const DOUBLE = Float64Array.BYTES_PER_ELEMENT;

const FIELDS = 3;

/**
 * Number of further values of a hit: its position in the reply from 1, guaranteed, borrowed; or its negative position, the
 * time until one permit is available, 0; or its negative position, -1, the thresholds that it has crossed.
 */
const PART = 3;

const NEVER = -1;

/** Returns the error of the first failed request of a call; also an error if the reply is not one of this package. */
export function failureIn(reply: unknown): Error | undefined {
  if (typeof reply === 'number' || isPacked(reply)) return undefined;
  if (!Array.isArray(reply)) return replyError(`something unexpected (${typeof reply})`);
  const failed = (reply as readonly unknown[]).find((part) => typeof part !== 'number' && !isNames(part));
  if (failed === undefined) return undefined;
  const isText = typeof failed === 'string' || Buffer.isBuffer(failed);
  return replyError(isText ? String(failed) : `a list with something unexpected (${typeof failed})`);
}

/** Whether a reply with a failure has the results of other requests. */
export function decidesSome(reply: unknown, requests: readonly unknown[]): boolean {
  return Array.isArray(reply) && reply.filter((part) => typeof part !== 'number').length < requests.length;
}

/** Whether a reply has the instant and three numbers for each hit. Read as a double, a text is no positive integer. */
function isPacked(reply: unknown): reply is Buffer {
  if (!Buffer.isBuffer(reply) || reply.length % (FIELDS * DOUBLE) !== DOUBLE) return false;
  const now = reply.readDoubleLE();
  return now > 0 && Number.isSafeInteger(now);
}

/** Whether a part of a reply is the list of names that a heartbeat returns. */
function isNames(part: unknown): boolean {
  return Array.isArray(part) && part.every((name) => typeof name === 'string');
}

function replyError(message: string): Error {
  return Object.assign(new Error(message), { name: 'ReplyError' });
}

/** Reports the thresholds whose bits a reply has. */
export function reportBits({ levels, crossed }: Alerts, bits: number, remaining: number): void {
  for (const index of levels.keys()) if (bits & (1 << index)) crossed(index, remaining);
}

/** A request, as far as its results depend on it. */
interface ReadRequest {
  readonly hits: readonly Pick<Hit, 'algorithm' | 'alerts'>[];
}

/** A result of the reply: no object literal, see docs/adr/0111-no-literals-for-what-waits.md. */
class ReadResult implements HitResult {
  readonly source = 'redis';

  constructor(
    readonly allowed: boolean,
    readonly remaining: number,
    readonly retryAfter: number | null,
    readonly resetAfter: number,
    readonly delay: number,
    readonly now: number,
  ) {}
}

function unpacked(reply: Buffer): number[] {
  const numbers = new Array<number>(reply.length / DOUBLE);
  for (let at = 0; at < numbers.length; at += 1) numbers[at] = reply.readDoubleLE(DOUBLE * at);
  return numbers;
}

/**
 * Reads the results of requests in the reply of decide.lua, one after the other. It has the instant, then three integers
 * per hit; the first value of a failed request is an error. Further values follow, each with the position of its hit: parts
 * of subjects, when the next permit is available, and thresholds that were crossed.
 *
 * If no request has failed, they are doubles in one string: ioredis takes long for a list of integers. See
 * docs/adr/0112-packed-replies.md.
 */
export class ReplyReader {
  private at = 1;
  private further: ReturnType<typeof this.readFurther> | undefined;
  private readonly values: readonly (number | Buffer)[];

  /** @param requests all requests of the call */
  constructor(
    reply: unknown,
    private readonly requests: readonly ReadRequest[],
  ) {
    const list = Array.isArray(reply) ? (reply as readonly (number | Buffer)[]) : [];
    this.values = isPacked(reply) ? unpacked(reply) : list;
  }

  /** @throws Error the error of the request, if it failed, or if the reply is not one of this package */
  next({ hits }: ReadRequest): HitResult[] {
    const { values, at } = this;
    this.at += FIELDS * hits.length;
    const failure = values[at];
    if (typeof failure !== 'number') throw replyError(String(failure ?? 'a list that is too short'));
    const results = new Array<HitResult>(hits.length);
    for (let index = 0; index < hits.length; index += 1) {
      const slot = at + FIELDS * index;
      const result = this.result(slot);
      const { algorithm, alerts } = hits[index]!;
      const isPlain = !algorithm.clear && !alerts && !(result.allowed && result.remaining === 0);
      results[index] = isPlain ? result : this.completed(result, slot, alerts);
    }
    return results;
  }

  /** Adds the further values of a hit to its result. */
  private completed(result: HitResult, at: number, alerts: Alerts | undefined): HitResult {
    const { parts, next, crossed } = (this.further ??= this.readFurther());
    if (alerts) reportBits(alerts, crossed.get(at) ?? 0, result.remaining);
    const part = parts.get(at);
    const nextAfter = next.get(at);
    if (!part && nextAfter === undefined) return result;
    return { ...result, ...(part && { part }), ...(nextAfter !== undefined && { nextAfter }) };
  }

  /** Returns the further values of hits, by the position of the hit. */
  private readFurther() {
    const values = this.values as readonly number[];
    const further = {
      parts: new Map<number, SharePart>(),
      next: new Map<number, number>(),
      crossed: new Map<number, number>(),
    };
    const first = this.requests.reduce((sum, { hits }) => sum + FIELDS * hits.length, 1);
    for (let at = first; at < values.length; at += PART) {
      const [slot, one, other] = [values[at]!, values[at + 1]!, values[at + 2]!];
      if (slot < 0 && one < 0) further.crossed.set(-slot - 1, other);
      else if (slot < 0) further.next.set(-slot - 1, one);
      else further.parts.set(slot - 1, { guaranteed: one, borrowed: other });
    }
    return further;
  }

  private result(at: number): HitResult {
    const values = this.values as readonly number[];
    const now = values[0]!;
    const remaining = values[at]!;
    const wait = values[at + 1]!;
    const resetAfter = values[at + 2]!;
    const { isSafeInteger } = Number;
    if (!isSafeInteger(remaining) || !isSafeInteger(wait) || !isSafeInteger(resetAfter))
      throw replyError('numbers that are missing, or no integers');
    if (wait >= 0) return new ReadResult(true, remaining, 0, resetAfter, wait, now);
    const retryAfter = wait === NEVER ? null : -2 - wait;
    if (remaining >= 0) return new ReadResult(false, remaining, retryAfter, resetAfter, 0, now);
    const blocked = new ReadResult(false, 0, retryAfter, resetAfter, 0, now);
    return Object.assign(blocked, { blockedFor: -remaining });
  }
}
