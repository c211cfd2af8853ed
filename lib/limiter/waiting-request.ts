import type { HitResult, Store } from '../contracts/store.js';
import { isDenied } from '../contracts/undo.js';
import type { RuleHit } from '../rules/compiled-rule.js';
import { Charge } from './decision.js';
import { withCurrentRules, type CurrentHits } from './current-rules.js';

const MICROSECONDS_PER_MS = 1000;

/** Hits with their results. */
export interface Decided {
  readonly hits: readonly RuleHit[];
  readonly results: readonly HitResult[];
}

/**
 * A request whose leases may wait in queues. Its other hits are charged when it arrives, and refunded if it gives up.
 */
export class WaitingRequest implements Decided {
  results: readonly HitResult[] = [];
  /** Whether it was denied while it waited, such as by a block. */
  isDenied = false;
  private names = 0;

  constructor(
    private readonly store: Store<RuleHit>,
    public hits: readonly RuleHit[],
  ) {}

  /** The names of its leases. */
  get leases(): readonly string[] {
    return this.hits.flatMap(({ lease }) => lease ?? []);
  }

  get isWaiting(): boolean {
    return this.results.some((result, index) => isQueued(this.hits[index]!, result));
  }

  /** Milliseconds after which it asks again at the latest, as the store said. */
  get delayMs(): number {
    const delays = this.results.filter((result, index) => isQueued(this.hits[index]!, result));
    return Math.ceil(Math.min(...delays.map(({ delay }) => delay)) / MICROSECONDS_PER_MS);
  }

  /** Milliseconds of its shortest lease. */
  get leaseMs(): number {
    const leases = this.hits.map(({ lease, parameters }) =>
      lease === undefined ? undefined : parameters['lease'],
    );
    return Math.min(...leases.map((lease) => lease ?? Infinity)) / MICROSECONDS_PER_MS;
  }

  /** Whether the fallback has decided a lease. */
  get isLocal(): boolean {
    return this.results.some(
      ({ source }, index) => source === 'fallback' && this.hits[index]!.lease !== undefined,
    );
  }

  async begin(): Promise<void> {
    this.results = await this.store.decide(this.hits, {});
  }

  /**
   * Asks for its leases once more, which renews them. If another store decides now, it leaves both, and begins anew under
   * other names: a release that is retried must not release what it gets later.
   */
  async ask(): Promise<void> {
    const isLease = ({ lease }: RuleHit): boolean => lease !== undefined;
    const asked = this.hits.filter(isLease).map((hit) => ({ ...hit, waits: true }));
    const before = this.results.filter((_result, index) => isLease(this.hits[index]!));
    let now = await this.store.decide(asked, {});
    if (now.some(({ source }, index) => source !== before[index]!.source)) {
      await this.refund(asked, before);
      await this.refund(asked, now);
      this.rename();
      now = await this.store.decide(
        this.hits.filter(isLease).map((hit) => ({ ...hit, waits: true })),
        {},
      );
    }
    const next = now.values();
    this.isDenied = isDenied(asked, now);
    if (this.isDenied) await this.leaveDenied(asked, before, now);
    this.results = this.results.map((result, index) =>
      isLease(this.hits[index]!) ? next.next().value! : result,
    );
  }

  /** Takes over the limits that its rules have now. */
  async follow(current: CurrentHits | undefined): Promise<void> {
    this.hits = await withCurrentRules(this.hits, current);
  }

  /** Releases all its permits, leaves the queues, and refunds its other hits. */
  async leave(): Promise<void> {
    await this.refund(this.hits, this.results);
  }

  /** Releases its permits and leaves the queues. Its other hits stay charged, as for every aborted request. */
  async abort(): Promise<void> {
    const isLease = (index: number): boolean => this.hits[index]!.lease !== undefined;
    await this.refund(
      this.hits.filter((_hit, index) => isLease(index)),
      this.results.filter((_result, index) => isLease(index)),
    );
  }

  /** Decides all its hits at once, without waiting. */
  async decideNow(): Promise<Decided> {
    this.rename();
    this.hits = this.hits.map((hit) => (hit.waits ? { ...hit, waits: false } : hit));
    await this.begin();
    return this;
  }

  /** Leaves the queues of the leases that are denied from now on: a denial has no place that could be refunded later. */
  private async leaveDenied(
    asked: readonly RuleHit[],
    before: readonly HitResult[],
    now: readonly HitResult[],
  ): Promise<void> {
    const isGone = (_each: unknown, index: number): boolean => !now[index]!.allowed;
    await this.refund(asked.filter(isGone), before.filter(isGone));
  }

  private async refund(hits: readonly RuleHit[], results: readonly HitResult[]): Promise<void> {
    const charges = new Charge(hits, results).take('refund');
    if (charges.length > 0) await this.store.adjust(charges);
  }

  private rename(): void {
    this.names += 1;
    this.hits = this.hits.map((hit) =>
      hit.lease === undefined ? hit : { ...hit, lease: `${hit.lease.split('.', 1)[0]!}.${this.names}` },
    );
  }
}

/** Whether a lease has only a place in the queue so far. */
function isQueued({ lease, shadow }: RuleHit, { allowed, delay }: HitResult): boolean {
  return lease !== undefined && !shadow && allowed && delay > 0;
}
