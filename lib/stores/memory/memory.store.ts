import type { Allowed, Denied, MaxWait, Next } from '../../contracts/algorithm.js';
import { type Clock, setBack } from '../../contracts/clock.js';
import { CLOCK, FROM_ONE, readOptions } from '../../contracts/options.js';
import {
  endsWithReset,
  isDenied,
  type Adjustment,
  type Counter,
  type DecideOptions,
  type Hit,
  type HitResult,
} from '../../contracts/store.js';
import type { BaseStore, GrantFollower } from '../../contracts/base-store.js';
import type { Place } from '../../contracts/lru-map.js';
import { Entries, hourly, Resets, warnOfFull } from './entries.js';
import {
  blocked,
  blockedFor,
  crossingsOf,
  nextOf,
  withBlock,
  type BlockableStep,
  type BlockState,
} from './steps.js';

/** The options of a `MemoryStore`. */
export interface MemoryStoreOptions {
  /**
   * Clock of the store, such as one that a test controls.
   * @default Date.now
   */
  readonly clock?: Clock;
  /**
   * Maximum number of keys: an integer from 1. Beyond it, the least recently used keys are deleted. A key counts by its
   * size, as one for each 250 to 750 bytes of heap: a log of 1,000 requests counts as 63.
   * @default 100_000
   */
  readonly maxKeys?: number;
}

const OPTIONS = { clock: CLOCK, maxKeys: FROM_ONE };

/**
 * Stores the state in the memory of this process. It decides like Redis, and loses all state at a restart.
 *
 * @example
 * const store = new MemoryStore({ clock: () => now });
 */
export class MemoryStore implements BaseStore {
  readonly source = 'memory';
  readonly shared = null;
  readonly clock: Clock;
  readonly stopwatch: Clock;
  private readonly entries: Entries;
  private full = warnOfFull;
  /** How much longer states are kept, in microseconds: an injected clock may step back further than the system's. */
  private readonly slack: number;
  private readonly resets: Resets;
  /** Reports of thresholds, for when all states are stored, since listeners may use the store. */
  private readonly crossings: (() => void)[] = [];
  private readonly grantFollowers = new Set<GrantFollower>();

  /** @throws RateLimitConfigError if an option is invalid */
  constructor(options?: MemoryStoreOptions) {
    const { clock, maxKeys = 100_000 } = readOptions('MemoryStore', options, OPTIONS);
    this.clock = clock ?? Date.now;
    this.stopwatch = clock ?? (() => performance.now());
    this.slack = clock ? 3600e6 : 0;
    const report = hourly(this.stopwatch, () => this.full(maxKeys));
    this.entries = new Entries(maxKeys, this.isOver, (expiresAt) => {
      if (expiresAt > this.now()) report();
    });
    this.resets = new Resets(this.entries);
  }

  /** Number of keys, including keys that have expired and are not deleted yet. */
  get size(): number {
    return this.entries.count;
  }

  decide(hits: readonly Hit[], options: DecideOptions): readonly HitResult[] {
    const settled = this.settleAll(hits, this.now(), options);
    if (this.crossings.length > 0) for (const report of this.crossings.splice(0)) report();
    return settled;
  }

  async adjust(adjustments: readonly Adjustment[]): Promise<readonly boolean[]> {
    const now = this.now();
    return adjustments.map((adjustment) => {
      const state = this.entries.get(adjustment);
      if (state === undefined && adjustment.kind !== 'charge') return false;
      if (endsWithReset(adjustment) && this.resets.isCleared(adjustment, now)) return false;
      const next = nextOf(adjustment, state, now);
      if (next) this.keep(adjustment, next, now);
      if (next?.remaining === undefined) return next !== undefined;
      adjustment.left?.(next.remaining);
      if (adjustment.alerts) for (const report of crossingsOf(this.entries, adjustment, next, now)) report();
      return true;
    });
  }

  async block({ block }: Counter, duration: number): Promise<boolean> {
    const blockedUntil = block && this.entries.delete(block.key);
    if (block && duration > 0) this.blockFor(block, duration, this.now());
    return blockedUntil !== undefined && !this.isOver(blockedUntil);
  }

  async reset(counters: readonly Counter[]): Promise<readonly boolean[]> {
    const now = this.now();
    this.resets.lastAt = now;
    return counters.map((counter) => {
      const { key, block } = counter;
      if (counter.algorithm.clear) return this.clear(counter, now);
      const expiresAt = this.entries.delete(key);
      if (expiresAt !== undefined) this.resets.add(key, expiresAt);
      for (const follower of this.grantFollowers) follower.cleared(key);
      const blockedUntil = block && this.entries.delete(block.key);
      return [expiresAt, blockedUntil].some((until) => until !== undefined && !this.isOver(until));
    });
  }

  /** Resets one subject of an algorithm that keeps all subjects of a rule in one state. */
  private clear(counter: Counter, now: number): boolean {
    const state = this.entries.get(counter);
    const next = state === undefined ? undefined : counter.algorithm.clear!(state, now, counter.parameters);
    if (next) this.keep(counter, next, now);
    return next !== undefined;
  }

  followGrants(_prefix: string, _instance: string, follower: GrantFollower): () => void {
    this.grantFollowers.add(follower);
    follower.trusted(true);
    return () => this.grantFollowers.delete(follower);
  }

  /** @internal Calls back when a state is evicted that has not expired, at most once an hour, instead of a process warning. */
  watchFull(full: (maxKeys: number) => void): void {
    this.full = full;
  }

  async close(): Promise<void> {
    this.entries.clear();
  }

  /** Microseconds since the epoch. */
  private now(): number {
    return Math.round(this.clock() * 1000);
  }

  private readonly isOver = (expiresAt: number): boolean => expiresAt + this.slack <= this.now();

  private step(hit: Counter, now: number, cost: number, maxWait?: MaxWait, lease?: string) {
    return hit.algorithm.step(this.entries.get(hit), now, cost, hit.parameters, maxWait, lease);
  }

  /** Decides a hit, with the block of its subject. A denial starts a block, unless the cost can never fit. */
  private stepOrBlock(hit: Hit, now: number, { maxWait = 0, prefetch }: DecideOptions): BlockableStep {
    const { block, lease } = hit;
    const mayWait = hit.waits ? 1 : maxWait;
    const cost = prefetch?.permits ?? hit.cost;
    if (!block) return this.step(hit, now, cost, mayWait, lease);
    const left = blockedFor(this.entries.get(block) as BlockState | undefined, now);
    if (left > 0) {
      const step = this.step(hit, now, hit.cost, mayWait, lease);
      const { resetAfter } = step.allowed ? this.step(hit, now, 0) : step;
      return { ...blocked(step.retryAfter, resetAfter, left), isBlocked: true };
    }
    return withBlock(this.step(hit, now, cost, mayWait, lease), block.duration);
  }

  private settleAll(hits: readonly Hit[], now: number, options: DecideOptions): readonly HitResult[] {
    if (hits.length === 1) {
      const hit = hits[0]!;
      const step = this.stepOrBlock(hit, now, options);
      return [this.settle(hit, step, !step.allowed && !hit.shadow, now, options)];
    }
    const steps = hits.map((hit) => this.stepOrBlock(hit, now, options));
    const areDenied = isDenied(hits, steps);
    return hits.map((hit, index) => this.settle(hit, steps[index]!, areDenied, now, options));
  }

  /** Stores what a decided hit changes, and returns its result. */
  private settle(
    hit: Hit,
    checked: BlockableStep,
    areDenied: boolean,
    now: number,
    { dryRun = false, peek = false }: DecideOptions,
  ): HitResult {
    const isUncharged = checked.allowed && (areDenied || (dryRun && !peek));
    const step: BlockableStep = isUncharged ? this.step(hit, now, 0) : checked;
    let nextAfter: number | null = null;
    if (!isUncharged && hit.cost > 0) {
      if (!step.allowed && !dryRun) this.keepDenied(hit, step, now);
      else if (step.allowed) nextAfter = this.charge(hit, step, now, dryRun);
    }
    if (!dryRun && (areDenied || !step.allowed || hit.cost === 0)) this.keepMoved(hit, now);
    const { allowed, remaining, retryAfter, resetAfter, delay, part, blockedFor: left } = step;
    const source = 'memory';
    const result: Changeable<HitResult> = { allowed, remaining, retryAfter, resetAfter, delay, source, now };
    if (now === this.resets.lastAt) result.chargedAt = Math.max(now, this.resets.chargesFrom(hit.key));
    if (left !== undefined) result.blockedFor = left;
    if (part) result.part = part;
    if (nextAfter !== null) result.nextAfter = nextAfter;
    return result;
  }

  /** Stores a charge, if it is one. Returns the time until a permit is available if it takes the last one; else `null`. */
  private charge(hit: Hit, step: Allowed<unknown>, now: number, dryRun: boolean): number | null {
    if (!dryRun) this.keep(hit, step, now);
    if (!dryRun && hit.alerts) this.crossings.push(...crossingsOf(this.entries, hit, step, now));
    const { algorithm, parameters } = hit;
    if (step.remaining > 0 || algorithm.leases) return null;
    return algorithm.step(step.state, now, 1, parameters).retryAfter;
  }

  private keepDenied(hit: Hit, step: BlockableStep & Denied, now: number): void {
    const { block } = hit;
    const begins = block && block.duration > 0 && !step.isBlocked && step.retryAfter !== null;
    if (begins) this.blockFor(block, block.duration, now);
    if (step.asked) this.keep(hit, step.asked, now);
  }

  /** Stores a state and a block that were written before the clock was set back, moved by the difference. */
  private keepMoved(hit: Hit, now: number): void {
    const { algorithm, parameters, block } = hit;
    const known = block && (this.entries.get(block) as BlockState | undefined);
    if (known && setBack(known.written, now) > 0) this.blockFor(block, blockedFor(known, now), now);
    const state = algorithm.isAhead && this.entries.get(hit);
    if (state === undefined || !algorithm.isAhead!(state, now, parameters)) return;
    const step = this.step(hit, now, 0);
    if (step.allowed) this.keep(hit, step, now);
  }

  private keep(counter: Counter, next: Next<unknown>, now: number): void {
    const { state, expiresAfter, granted } = next;
    this.entries.set(counter, state, now + expiresAfter, counter.algorithm.sizeOf?.(state) ?? 1);
    if (granted)
      for (const follower of this.grantFollowers) for (const lease of granted) follower.came(lease);
  }

  private blockFor(block: Place, duration: number, now: number): void {
    this.entries.set(block, { until: now + duration, written: now } satisfies BlockState, now + duration, 1);
  }
}

type Changeable<Type> = { -readonly [Field in keyof Type]: Type[Field] };
