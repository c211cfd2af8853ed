import type { BaseStore, GrantFollower } from '../contracts/base-store.js';
import { entryOf } from '../contracts/entry-of.js';
import type { Store } from '../contracts/store.js';
import { after, every, onAbort, type Timer } from '../contracts/timer.js';
import type { RuleHit } from '../rules/compiled-rule.js';
import { ownerOf, QueuedRequest } from './queued-request.js';
import type { Wait } from './rate-limiter.options.js';
import type { Decided, WaitingRequest } from './waiting-request.js';
import { WindowRequest } from './window-request.js';

/**
 * The first request of each counter is decided again this often, because a refund, a reset or another limit may shorten its
 * wait, the report of a turn can be lost, and the whole queue if the server loses its state.
 */
const CHECK_EVERY_MS = 1000;
/** Maximum number of counters that are checked at a time; the others follow in later checks. */
const MOST_CHECKED = 100;
/** The report of a turn may come later than the reply that has its permits, but not later than this. */
const REPORTED_WITHIN_MS = 250;

/**
 * Decides requests that wait for permits: one line for each counter, in the order of arrival. A request is decided again
 * after a while, when its turn comes, when rules or the deciding store change, and once a second while it is the first.
 * Where permits are held, the queue is that of the store, and each request is in it; else only the first of a line is sent.
 *
 * See docs/adr/0053-the-queue-of-concurrency.md and docs/adr/0054-changes-that-are-not-reported.md.
 */
export class WaitingRoom implements GrantFollower {
  private readonly lines = new Map<string, Set<WaitingRequest>>();
  /** The requests whose turns are reported, by the first name of a lease. */
  private readonly owners = new Map<string, WaitingRequest>();
  private readonly underWay = new Set<Promise<unknown>>();
  private readonly ends: (() => void)[] = [];
  private timer: Timer | undefined;
  private checks = 0;
  /** Number of changes of rules. */
  private changes = 0;
  private isFollowing = false;
  private isTrusted = false;
  private isClosed = false;

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

  /** @throws the signal's reason if it aborts; its permits are released, and it leaves all queues */
  async decide(hits: readonly RuleHit[], wait: Wait): Promise<Decided> {
    wait.signal?.throwIfAborted();
    const isQueued = hits.some(({ waits }) => waits);
    if (isQueued && !this.isFollowing && !this.isClosed) {
      this.isFollowing = true;
      this.follow(this.base, this);
    }
    const request = isQueued
      ? new QueuedRequest(this.store, hits)
      : new WindowRequest(this.store, hits, wait.queues === true);
    const decided = this.wait(request, wait);
    this.underWay.add(decided);
    return decided.finally(() => this.underWay.delete(decided));
  }

  came(lease: string): void {
    const request = this.owners.get(ownerOf(lease));
    if (!request) return;
    request.isChecked = false;
    request.wake();
  }

  cleared(key: string): void {
    for (const request of this.lines.get(key) ?? []) request.wake();
  }

  trusted(isTrusted: boolean): void {
    this.isTrusted = isTrusted;
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

  /** Decides the waiting requests again, in the order of arrival, because another store decides from now on. */
  wakeAll(): void {
    for (const request of new Set([...this.lines.values()].flatMap((line) => [...line]))) {
      request.nextAt = 0;
      request.wake();
    }
  }

  /** Decides the waiting requests again with the limits that their rules have now: a cost may no longer fit. */
  rulesChanged(): void {
    this.changes += 1;
    this.wakeAll();
  }

  /** Ends the waits: each request is decided once more, and later ones do not wait. */
  async close(): Promise<void> {
    this.isClosed = true;
    this.wakeAll();
    await Promise.allSettled(this.underWay);
    for (const end of this.ends.splice(0)) end();
  }

  private follow(store: BaseStore, follower: GrantFollower): void {
    const end = store.followGrants?.(this.prefix, this.instance, follower);
    if (end) this.ends.push(end);
  }

  private async wait(request: WaitingRequest, { maxWaitMs, signal, current }: Wait): Promise<Decided> {
    const latest = performance.now() + maxWaitMs;
    let { changes } = this;
    const unheard = signal && onAbort(signal, request.wake);
    this.enter(request); // before it is sent: its turn may come before the reply
    try {
      for (;;) {
        if (changes !== this.changes) {
          ({ changes } = this);
          if (current) request.hits = await withCurrentRules(request.hits, current);
        }
        const until = this.isClosed ? 0 : latest;
        const pauseMs = await request.decide({
          until,
          first: firstOf(this.lines.get(request.keys[0]!)!)!,
          isTrusted: this.isTrusted,
        });
        if (pauseMs === undefined && (!signal?.aborted || request.leases.length === 0)) return request;
        request.isChecked = false;
        await request.pause(Math.min(pauseMs ?? 0, until - performance.now())); // An abort ends it.
        if (!signal?.aborted) continue;
        await request.leave();
        throw signal.reason;
      }
    } finally {
      unheard?.();
      this.leave(request);
    }
  }

  private enter(request: WaitingRequest): void {
    for (const key of request.keys) entryOf(this.lines, key, () => new Set()).add(request);
    for (const lease of request.leases) this.owners.set(ownerOf(lease), request);
    this.timer ??= every(CHECK_EVERY_MS, () => this.check());
  }

  /** Removes a request. If it was the first, the next one is, and is sent if the store does not know it. */
  private leave(request: WaitingRequest): void {
    for (const key of request.keys) {
      const line = this.lines.get(key)!;
      const wasFirst = firstOf(line) === request;
      line.delete(request);
      const next = firstOf(line);
      if (!next) this.lines.delete(key);
      else if (wasFirst && next.leases.length === 0) next.wake();
    }
    if (this.lines.size === 0) {
      this.timer?.stop();
      this.timer = undefined;
    }
    this.forget(request);
  }

  /**
   * Lets the others of a counter be decided again if a check has found that a turn came and is not reported: theirs may have
   * been lost as well.
   */
  private forget(request: WaitingRequest): void {
    const forget = (): void => {
      for (const lease of request.leases) this.owners.delete(ownerOf(lease));
      if (request.isChecked) for (const key of request.keys) this.cleared(key);
    };
    if (request.isChecked) after(REPORTED_WITHIN_MS, forget);
    else forget();
  }

  private check(): void {
    const first = [...new Set([...this.lines.values()].map((line) => firstOf(line)!))];
    for (let nth = 0; nth < Math.min(first.length, MOST_CHECKED); nth += 1) {
      const request = first[(this.checks + nth) % first.length]!;
      request.isChecked = this.isTrusted && request.leases.length > 0;
      request.wake();
    }
    this.checks += MOST_CHECKED;
  }
}

function firstOf(line: ReadonlySet<WaitingRequest>): WaitingRequest | undefined {
  const [first] = line;
  return first;
}

/**
 * Returns waiting hits with the limits that their rules have now. A hit whose rule no longer applies, or has started new
 * counters, keeps its own, and so do all if a rule now depends on the request, or a function of the application failed.
 */
async function withCurrentRules(
  hits: readonly RuleHit[],
  current: Required<Wait>['current'],
): Promise<readonly RuleHit[]> {
  const none = (): readonly RuleHit[] => [];
  const now = await Promise.resolve().then(current).catch(none);
  return hits.map((hit) => {
    const found = now.find(({ key }) => key === hit.key);
    if (!found) return hit;
    const { rule, parameters, shadow, isExempt = false } = found;
    // A held permit stays charged, so that its release frees it.
    return { ...hit, rule, parameters, shadow, isExempt: isExempt && hit.lease === undefined };
  });
}
