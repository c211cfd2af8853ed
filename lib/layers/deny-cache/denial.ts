import type { Hit, HitResult } from '../../contracts/store.js';

/** A request that was denied, and for how long it will be. */
export class Denial {
  /** The last results, while they are right: most keys are asked for less often, and need not hold them. */
  private results: readonly HitResult[] | undefined;
  /** When one of their figures in milliseconds will differ, in microseconds after `since`. */
  private changesAfter = 0;

  /**
   * @param since when the store was asked, in microseconds of the process's clock: no later than it decided
   * @param until until when the request is known to be denied
   */
  constructor(
    private readonly hits: readonly Hit[],
    private readonly told: readonly HitResult[],
    private readonly since: number,
    private readonly until: number,
  ) {}

  /** Whether a request is the same. */
  isOf(hits: readonly Hit[]): boolean {
    return hits === this.hits || (hits.length === this.hits.length && hits.every(isSame, this.hits));
  }

  /** The results of the request at an instant, `undefined` if they are not known any more. */
  at(now: number): readonly HitResult[] | undefined {
    const elapsed = now - this.since;
    if (now >= this.until || elapsed < 0) return undefined;
    if (elapsed < this.changesAfter) return (this.results ??= this.resultsAfter(elapsed));
    this.results = undefined;
    return this.resultsAfter(elapsed);
  }

  private resultsAfter(elapsed: number): readonly HitResult[] {
    const results = new Array<HitResult>(this.told.length);
    this.changesAfter = Infinity;
    for (let index = 0; index < results.length; index += 1) {
      const { allowed, remaining, retryAfter, resetAfter, delay, now } = this.told[index]!;
      const changes = Math.min(
        nextMillisecond(retryAfter ?? 0, elapsed),
        nextMillisecond(resetAfter, elapsed),
      );
      if (changes < this.changesAfter) this.changesAfter = changes;
      results[index] = {
        allowed,
        remaining,
        retryAfter: retryAfter === null ? null : Math.max(0, retryAfter - elapsed),
        resetAfter: Math.max(0, resetAfter - elapsed),
        delay,
        source: 'cache',
        now,
      };
    }
    return results;
  }
}

/** When a wait that began with so many microseconds will be a millisecond less, rounded up. */
function nextMillisecond(wait: number, elapsed: number): number {
  const left = wait - elapsed;
  return left > 0 ? wait - (Math.ceil(left / 1000) - 1) * 1000 : Infinity;
}

function isSame(this: readonly Hit[], hit: Hit, index: number): boolean {
  const { key, cost, parameters } = this[index]!;
  return hit.key === key && hit.cost === cost && hit.parameters === parameters;
}
