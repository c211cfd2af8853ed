import { onAbort } from '../contracts/timer.js';
import type { Store } from '../contracts/store.js';
import type { BaseStore, TurnFollower } from '../contracts/base-store.js';
import type { RuleHit } from '../rules/compiled-rule.js';
import type { CurrentHits } from './current-rules.js';
import { Pause } from './pause.js';
import { WaitingList, type Waiter } from './waiting-list.js';
import { WaitingRequest, type Decided } from './waiting-request.js';

/** While turns are not reported, a waiting request is sent again at this interval. */
const UNREPORTED_MS = 1000;
const ASKS_PER_LEASE = 3;
/** A request is sent earlier by up to this fraction of the interval, so that requests are spread over time. */
const SPREAD = 0.5;
const GOLDEN_RATIO = 0.618_033_988_749;

/** How long a request waits for its turn. */
export interface Wait {
  /** Milliseconds, from 0. */
  readonly maxWaitMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Absent if the rules cannot change. */
  readonly current?: CurrentHits | undefined;
  /** Whether permits are charged at once, with a delay, so that only the end of a block is waited for. */
  readonly queues?: boolean;
}

/**
 * Decides requests that wait in the queue of a concurrency rule.
 *
 * The store holds the queue. It reports each lease that got its permits, and the request of that lease is then sent
 * again. A waiting request is also sent again:
 *
 * - three times within its lease, which renews the lease
 * - when the permits that it would get next may expire
 * - every second if it is the first of its counter in this process, or while turns are not reported
 *
 * See docs/adr/0053-the-queue-of-concurrency.md.
 */
export class Waiters implements TurnFollower {
  private readonly waiting = new WaitingList();
  private readonly underWay = new Set<Promise<unknown>>();
  private readonly ends: (() => void)[] = [];
  private isFollowing = false;
  private isTrusted = false;
  private isClosed = false;
  private turn = 0;
  /** Number of changes of rules. */
  private changes = 0;

  /**
   * @param store decides, with all layers
   * @param base reports turns
   * @param instance prefix of the names of this process's leases
   */
  constructor(
    private readonly store: Store<RuleHit>,
    private readonly base: BaseStore,
    private readonly prefix: string,
    private readonly instance: string,
  ) {}

  /**
   * Decides hits; leases with `waits` wait in the queues of their rules. After the time limit, all hits are decided
   * once more without waiting.
   *
   * @throws the signal's reason if it aborts; its permits are released, and it leaves all queues
   */
  decide(hits: readonly RuleHit[], wait: Wait): Promise<Decided> {
    const request = new WaitingRequest(this.store, hits);
    if (this.isClosed || wait.maxWaitMs === 0) return request.decideNow();
    if (!this.isFollowing) {
      this.isFollowing = true;
      this.follow(this.base, this);
    }
    const decided = this.wait(request, wait);
    this.underWay.add(decided);
    return decided.finally(() => this.underWay.delete(decided));
  }

  came(lease: string): void {
    this.waiting.came(lease);
  }

  cleared(key: string): void {
    this.waiting.wake((waiter) => waiter.keys.has(key));
  }

  trusted(isTrusted: boolean): void {
    this.isTrusted = isTrusted;
    this.waiting.isChecking = isTrusted; // otherwise all ask as often
    this.wakeAll();
  }

  /** Sends every waiting request again, in the order of arrival. */
  wakeAll(): void {
    this.waiting.wake();
  }

  /** Sends every waiting request again with the limits that its rules have now: its cost may no longer fit. */
  rulesChanged(): void {
    this.changes += 1;
    this.wakeAll();
  }

  /** Follows the turns of the store that decides while the first one cannot. */
  followFallback(store: BaseStore): void {
    this.follow(store, {
      came: (lease) => this.came(lease),
      cleared: (key) => this.cleared(key),
      trusted: () => undefined,
    });
  }

  /** Ends every wait as if its time limit had passed. */
  async close(): Promise<void> {
    this.isClosed = true;
    this.wakeAll();
    await Promise.allSettled(this.underWay);
    for (const end of this.ends.splice(0)) end();
  }

  private follow(store: BaseStore, follower: TurnFollower): void {
    const end = store.followTurns?.(this.prefix, this.instance, follower);
    if (end) this.ends.push(end);
  }

  private async wait(request: WaitingRequest, { maxWaitMs, signal, current }: Wait): Promise<Decided> {
    const until = performance.now() + maxWaitMs;
    const pause = new Pause();
    let { changes } = this;
    const keys = new Set(request.hits.map(({ key }) => key));
    const waiter: Waiter = { keys, wake: pause.end, isChecked: false };
    const unheard = signal && onAbort(signal, pause.end);
    try {
      this.waiting.add(request.leases, waiter); // before it is sent: its turn may come before the reply
      await request.begin();
      while (request.isWaiting && !signal?.aborted) {
        await pause.last(Math.min(this.pauseOf(request), until - performance.now()));
        if (signal?.aborted) break;
        if (changes !== this.changes) {
          ({ changes } = this);
          await request.follow(current);
        }
        if (!this.isClosed && performance.now() < until) await this.ask(request, waiter);
        else request.isDenied = true;
        this.waiting.asked(waiter, request.leases, request.isWaiting);
        if (!request.isDenied) continue;
        await request.leave();
        this.waiting.remove(request.leases); // before they get other names
        return await request.decideNow();
      }
      if (!signal?.aborted) return request;
      await request.abort();
      throw signal.reason;
    } finally {
      unheard?.();
      this.waiting.remove(request.leases);
    }
  }

  private async ask(request: WaitingRequest, waiter: Waiter): Promise<void> {
    const { leases } = request;
    await request.ask();
    if (request.leases[0] === leases[0]) return;
    this.waiting.remove(leases);
    this.waiting.add(request.leases, waiter);
  }

  /** Milliseconds until a request is sent again, unless its turn comes first. */
  private pauseOf({ delayMs, leaseMs, isLocal }: WaitingRequest): number {
    this.turn = (this.turn + GOLDEN_RATIO) % 1;
    const renewal = (leaseMs / ASKS_PER_LEASE) * (1 - SPREAD * this.turn);
    return Math.min(delayMs, renewal, this.isTrusted && !isLocal ? Infinity : UNREPORTED_MS);
  }
}
