import type { DecideOptions, HitResult, Store } from '../contracts/store.js';
import type { RuleHit } from '../rules/compiled-rule.js';
import { toMilliseconds } from './decision.js';
import { maxWaitOf } from './rate-limiter.options.js';
import { type Turn, WaitingRequest } from './waiting-request.js';

const MICROSECONDS_PER_MS = 1000;

/**
 * A request that waits for permits of a window, or for the end of a block. The first request of a counter is decided again
 * when permits are available; those behind it wait for it, first come, first served within this process. A denial starts
 * no block.
 */
export class WindowRequest extends WaitingRequest {
  readonly leases = [];

  /** @param queues whether permits are charged at once, with a delay, so that only the end of a block is waited for */
  constructor(
    store: Store<RuleHit>,
    asked: readonly RuleHit[],
    private readonly queues: boolean,
  ) {
    super(store, withoutBlocks(asked));
  }

  get keys(): readonly string[] {
    return [(this.hits.find(({ wait }) => wait) ?? this.hits[0]!).key];
  }

  /** It is denied at once if its permits come too late. */
  async decide({ until, first }: Turn): Promise<number | undefined> {
    if (first !== this) return this.decideBehind(first, until);
    this.results = await this.store.decide(this.hits, this.optionsOf(until));
    const retryMs = this.retryMs();
    if (retryMs === undefined) return undefined;
    this.nextAt = performance.now() + retryMs;
    return this.nextAt > until ? undefined : retryMs;
  }

  async leave(): Promise<void> {
    // The store does not know that it waits.
  }

  /**
   * If its time is over, it is denied without a charge where those ahead wait for permits; if they only wait for a reply,
   * permits may be free.
   */
  private async decideBehind({ nextAt }: WaitingRequest, until: number): Promise<number | undefined> {
    if (nextAt <= until && performance.now() < until) return Infinity;
    this.results =
      nextAt === 0
        ? await this.store.decide(this.hits, this.optionsOf(until))
        : deniedUntil(nextAt, this.hits, await this.store.decide(this.hits, { dryRun: true }));
    return undefined;
  }

  /** Returns the milliseconds until denied hits may be allowed; `undefined` if there is nothing to wait for. */
  private retryMs(): number | undefined {
    const hasWaits = this.hits.some((hit) => hit.wait);
    const waits: number[] = [];
    for (const [index, { wait, shadow }] of this.hits.entries()) {
      const { allowed, blockedFor, retryAfter } = this.results[index]!;
      if (allowed || shadow) continue;
      const isAwaited = this.queues ? blockedFor === retryAfter : !hasWaits || wait !== undefined;
      if (!isAwaited) return undefined;
      waits.push(retryAfter ?? Infinity);
    }
    return waits.length === 0 ? undefined : toMilliseconds(Math.max(...waits));
  }

  /** Returns the options of a decision: where permits are charged ahead, their delay must fit into the time left. */
  private optionsOf(until: number): DecideOptions {
    return this.queues ? { maxWait: maxWaitOf(until - performance.now()) } : {};
  }
}

/** Returns the hits whose denials start no block: a try is no request of the client. */
function withoutBlocks(asked: readonly RuleHit[]): readonly RuleHit[] {
  const hasWaits = asked.some((hit) => hit.wait);
  return asked.map((hit) =>
    hit.block && (hit.wait || !hasWaits) ? { ...hit, block: { ...hit.block, duration: 0 } } : hit,
  );
}

/** Returns the results of hits that would be allowed if no request were ahead. */
function deniedUntil(
  nextAt: number,
  hits: readonly RuleHit[],
  results: readonly HitResult[],
): readonly HitResult[] {
  const retryAfter = Math.max(1, Math.ceil((nextAt - performance.now()) * MICROSECONDS_PER_MS));
  return results.map((result, index) =>
    result.allowed && !hits[index]!.shadow ? { ...result, allowed: false, retryAfter } : result,
  );
}
