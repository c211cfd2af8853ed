import { LruEntry } from '../../contracts/lru-map.js';
import type { Hit, HitResult } from '../../contracts/store.js';

/** Estimated heap of a hit with its results, in bytes, besides its key. */
const HIT_BYTES = 500;

/** What distinguishes hits: a denial keeps nothing else of its request. */
interface DeniedHit extends Pick<Hit, 'key' | 'cost' | 'parameters'> {
  /** The result of the store. */
  readonly result: HitResult;
}

/** The cached denial of a request. */
export class Denial extends LruEntry<Denial> {
  private hits: readonly DeniedHit[];
  /** The last results. Kept only if the request is repeated before they change, which is rare for most keys. */
  private results: readonly HitResult[] | undefined;
  /** When the first of their values in milliseconds changes, in microseconds after `since`. */
  private changesAfter = 0;

  /**
   * @param key the key of the hit that denied the request
   * @param storeResults the results of the store
   * @param since when the store was called, in microseconds of the process's clock: no later than its decision
   * @param until until when the request is denied, in microseconds of the same clock
   */
  constructor(
    key: string,
    hits: readonly Hit[],
    results: readonly HitResult[],
    private readonly since: number,
    private readonly until: number,
  ) {
    super(
      key,
      hits.reduce((bytes, hit) => bytes + HIT_BYTES + hit.key.length, 0),
    );
    this.hits = hits.map(({ key: own, cost, parameters }, index) => {
      return { key: own, cost, parameters, result: results[index]! };
    });
  }

  override release(): void {
    this.hits = [];
    this.results = undefined;
  }

  /** Whether a request equals the denied one. */
  isOf(hits: readonly Hit[]): boolean {
    if (hits.length !== this.hits.length) return false;
    for (let index = 0; index < hits.length; index += 1) {
      const { key, cost, parameters } = this.hits[index]!;
      const hit = hits[index]!;
      if (hit.key !== key || hit.cost !== cost || hit.parameters !== parameters) return false;
    }
    return true;
  }

  /** Whether the denial has ended. */
  isOver(now: number): boolean {
    return now >= this.until;
  }

  /** Returns the results of the request at an instant; `undefined` if the denial does not cover it. */
  at(now: number): readonly HitResult[] | undefined {
    const elapsed = now - this.since;
    if (this.isOver(now) || elapsed < 0) return undefined;
    if (elapsed < this.changesAfter) return (this.results ??= this.resultsAfter(elapsed));
    this.results = undefined;
    return this.resultsAfter(elapsed);
  }

  private resultsAfter(elapsed: number): readonly HitResult[] {
    const results = new Array<HitResult>(this.hits.length);
    this.changesAfter = Infinity;
    for (let index = 0; index < results.length; index += 1) {
      const { allowed, remaining, retryAfter, resetAfter, delay, part, now } = this.hits[index]!.result;
      const changes = Math.min(
        nextMillisecond(retryAfter ?? 0, elapsed),
        nextMillisecond(resetAfter, elapsed),
      );
      if (changes < this.changesAfter) this.changesAfter = changes;
      const result: HitResult = {
        allowed,
        remaining,
        retryAfter: retryAfter === null ? null : Math.max(0, retryAfter - elapsed),
        resetAfter: Math.max(0, resetAfter - elapsed),
        delay,
        source: 'cache',
        now,
      };
      results[index] = part ? { ...result, part } : result;
    }
    return results;
  }
}

/**
 * Returns when the rest of a wait, rounded up to milliseconds, changes next: in microseconds after its start, `Infinity`
 * if the wait is over.
 */
function nextMillisecond(wait: number, elapsed: number): number {
  const left = wait - elapsed;
  return left > 0 ? wait - (Math.ceil(left / 1000) - 1) * 1000 : Infinity;
}
