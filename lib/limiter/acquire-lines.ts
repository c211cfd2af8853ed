import { toMicroseconds } from '../contracts/clock.js';
import type { DecideOptions, HitResult, Store } from '../contracts/store.js';
import { sleep } from '../contracts/timer.js';
import { isDenied } from '../contracts/undo.js';
import type { RuleHit } from '../rules/compiled-rule.js';
import { withCurrentRules } from './current-rules.js';
import type { Wait } from './waiters.js';
import type { Decided } from './waiting-request.js';

const MICROSECONDS_PER_MS = 1000;

/** The longest wait in milliseconds: longer than any queue. */
export const LONGEST_WAIT_MS = 366 * 86_400e3;

/** A refund, a reset or another limit may shorten a wait, so the first request asks again at least this often. */
const ASKS_AGAIN_AFTER_MS = 1000;

/** The requests that wait for one counter, in the order of arrival. A request that ends leaves nothing behind. */
class Line {
  /** When permits for the first request are available, by `performance.now()`; 0 if it has not been decided yet. */
  nextAt = 0;
  /** What each request does when it becomes the first. */
  private readonly turns = new Set<() => void>();

  /**
   * Adds a request.
   *
   * @returns whether it is the first
   */
  enter(turn: () => void): boolean {
    return this.turns.add(turn).size === 1;
  }

  /**
   * Removes a request. If it was the first, the next one becomes it.
   *
   * @returns whether it was the last
   */
  leave(turn: () => void): boolean {
    const [first] = this.turns;
    this.turns.delete(turn);
    const [next] = this.turns;
    if (turn === first) next?.();
    return next === undefined;
  }
}

/**
 * Decides requests that wait for permits of a window, or for the end of a block. The first request of a counter waits and
 * asks again; those behind it wait for it, first come, first served within this process.
 */
export class AcquireLines {
  private readonly lines = new Map<string, Line>();
  private readonly closing = new AbortController();
  private waking = new AbortController();
  /** Number of changes of rules. */
  private changes = 0;

  constructor(private readonly store: Store<RuleHit>) {}

  /**
   * Returns a denial at once if the wait would exceed the timeout. A denial starts no block.
   *
   * @throws the signal's reason if it aborts
   */
  async decide(asked: readonly RuleHit[], wait: Wait): Promise<Decided> {
    const { maxWaitMs, signal, queues } = wait;
    const { changes } = this;
    const until = performance.now() + maxWaitMs;
    const hits = withoutBlocks(asked);
    const { key } = hits[0]!;
    const line = this.lines.get(key) ?? new Line();
    this.lines.set(key, line);
    let turn!: () => void;
    const ahead = new Promise<void>((resolve) => (turn = resolve));
    const isFirst = line.enter(turn);
    try {
      const isLate = !isFirst && !(await isOver(ahead, line, until, signal));
      const leftMs = isFirst ? maxWaitMs : until - performance.now();
      if (isLate) return await this.decideLate(hits, line, optionsOf(queues, leftMs));
      return await this.decideFirst(hits, line, leftMs, wait, changes);
    } finally {
      if (line.leave(turn)) this.lines.delete(key);
    }
  }

  private async decideFirst(
    asked: readonly RuleHit[],
    line: Line,
    withinMs: number,
    { signal, current, queues }: Wait,
    since: number,
  ): Promise<Decided> {
    let [hits, changes, leftMs] = [asked, since, withinMs];
    const until = performance.now() + leftMs;
    try {
      for (;;) {
        signal?.throwIfAborted();
        if (changes !== this.changes) {
          ({ changes } = this);
          hits = await withCurrentRules(hits, current);
        }
        const results = await this.store.decide(hits, optionsOf(queues, leftMs));
        const retryMs = queues ? blockOf(hits, results) : retryOf(hits, results);
        if (retryMs === undefined) return { hits, results };
        line.nextAt = performance.now() + retryMs;
        if (line.nextAt > until || this.closing.signal.aborted) return { hits, results };
        await this.pause(Math.min(retryMs, ASKS_AGAIN_AFTER_MS), signal);
        leftMs = until - performance.now();
      }
    } finally {
      line.nextAt = 0;
    }
  }

  /** Lets the first request of each counter be decided again, because another store decides from now on. */
  wakeAll(): void {
    if (this.lines.size === 0) return;
    for (const line of this.lines.values()) line.nextAt = 0;
    this.waking.abort();
    this.waking = new AbortController();
  }

  /** Lets the first request of each counter be decided again with the limits that its rules have now. */
  rulesChanged(): void {
    this.changes += 1;
    this.wakeAll();
  }

  /** Ends the waits: each request is decided once more, and does not wait. */
  close(): void {
    this.closing.abort();
  }

  /** @throws the signal's reason if it aborts */
  private async pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
    const { closing, waking } = this;
    await sleep(milliseconds, signal, closing.signal, waking.signal).catch(() => signal?.throwIfAborted());
  }

  /**
   * Decides a request behind others whose time is over. It is denied without a charge if those ahead wait for permits;
   * if they only wait for a reply, permits may be free.
   */
  private async decideLate(
    hits: readonly RuleHit[],
    { nextAt }: Line,
    options: DecideOptions,
  ): Promise<Decided> {
    if (nextAt === 0) return { hits, results: await this.store.decide(hits, options) };
    const results = await this.store.decide(hits, { dryRun: true });
    const behind = Math.max(1, Math.ceil((nextAt - performance.now()) * MICROSECONDS_PER_MS));
    const isShadow = (index: number): boolean => hits[index]!.shadow === true;
    return {
      hits,
      results: results.map((result, index) =>
        result.allowed && !isShadow(index) ? { ...result, allowed: false, retryAfter: behind } : result,
      ),
    };
  }
}

/** Returns the hits whose denials start no block: a try is no request of the client. */
function withoutBlocks(asked: readonly RuleHit[]): readonly RuleHit[] {
  const hasWaits = asked.some((hit) => hit.wait);
  return asked.map((hit) =>
    hit.block && (hit.wait || !hasWaits) ? { ...hit, block: { ...hit.block, duration: 0 } } : hit,
  );
}

/** Returns the options of a decision: where permits are charged ahead, their delay must fit into the time left. */
function optionsOf(queues: boolean | undefined, leftMs: number): DecideOptions {
  return queues ? { maxWait: maxWaitOf(leftMs) } : {};
}

/** Returns a wait in microseconds: from 1, since 0 would not wait. */
export function maxWaitOf(milliseconds: number): number {
  return Math.max(1, toMicroseconds(Math.min(milliseconds, LONGEST_WAIT_MS)));
}

/** Returns the milliseconds until the blocks of denied hits end; `undefined` if anything else denies them. */
function blockOf(hits: readonly RuleHit[], results: readonly HitResult[]): number | undefined {
  const denials = results.filter(({ allowed }, index) => !allowed && !hits[index]!.shadow);
  const isBlock = ({ blockedFor, retryAfter }: HitResult): boolean => blockedFor === retryAfter;
  if (denials.length === 0 || !denials.every(isBlock)) return undefined;
  return Math.ceil(Math.max(...denials.map(({ blockedFor }) => blockedFor!)) / MICROSECONDS_PER_MS);
}

/** Returns the milliseconds until denied hits may be allowed; `undefined` if there is nothing to wait for. */
function retryOf(hits: readonly RuleHit[], results: readonly HitResult[]): number | undefined {
  if (!isDenied(hits, results)) return undefined;
  const hasWaits = hits.some((hit) => hit.wait);
  const isDenial = (index: number): boolean => !results[index]!.allowed && !hits[index]!.shadow;
  if (hasWaits && hits.some((hit, index) => !hit.wait && isDenial(index))) return undefined;
  const denials = results.filter((_result, index) => isDenial(index));
  const retryAfter = Math.max(...denials.map((denial) => denial.retryAfter ?? Infinity));
  return Math.ceil(retryAfter / MICROSECONDS_PER_MS);
}

/** Returns whether the requests ahead end in time. */
async function isOver(
  ahead: Promise<void>,
  line: Line,
  until: number,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  signal?.throwIfAborted();
  if (line.nextAt > until) return false;
  const end = new AbortController();
  const leftMs = Math.min(until - performance.now(), LONGEST_WAIT_MS);
  const timedOut = sleep(leftMs, signal, end.signal).then(() => false);
  try {
    return await Promise.race([ahead.then(() => true), timedOut]);
  } finally {
    end.abort();
  }
}
