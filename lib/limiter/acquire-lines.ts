import type { HitResult, Store } from '../contracts/store.js';
import { sleep } from '../contracts/timer.js';
import { isDenied } from '../contracts/undo.js';
import type { RuleHit } from '../rules/rule-hit.js';
import { withCurrentRules } from './current-rules.js';
import type { Wait } from './waiters.js';
import type { Decided } from './waiting-request.js';

const MICROSECONDS_PER_MS = 1000;
const LONGEST_WAIT_MS = 366 * 86_400e3;

/** A refund, a reset or another limit may shorten a wait, so the first request asks again at least this often. */
const ASKS_AGAIN_AFTER_MS = 1000;

/** The requests that wait for one counter. */
interface Line {
  /** Resolves when the last request in it has ended. */
  tail: Promise<void>;
  /** When permits for the first request are available, by `performance.now()`; 0 if it has not been decided yet. */
  nextAt: number;
}

/**
 * Decides requests that wait for permits of a window. The first request of a counter waits until its permits are available
 * and asks again; those behind it wait for it, first come, first served within this process.
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
    const { timeoutMs, signal } = wait;
    const { changes } = this;
    const until = performance.now() + timeoutMs;
    const hits = withoutBlocks(asked);
    const { key } = hits[0]!;
    const line = this.lines.get(key) ?? { tail: Promise.resolve(), nextAt: 0 };
    const isFirst = !this.lines.has(key);
    const { tail: ahead } = line;
    let end!: () => void;
    const tail = new Promise<void>((resolve) => (end = resolve));
    line.tail = tail;
    this.lines.set(key, line);
    try {
      if (!isFirst && !(await isOver(ahead, line, until, signal))) return await this.decideLate(hits, line);
      return await this.decideFirst(hits, line, until, wait, changes);
    } finally {
      void ahead.then(() => {
        end();
        if (line.tail === tail) this.lines.delete(key);
      });
    }
  }

  private async decideFirst(
    asked: readonly RuleHit[],
    line: Line,
    until: number,
    { signal, current }: Wait,
    since: number,
  ): Promise<Decided> {
    let [hits, changes] = [asked, since];
    try {
      for (;;) {
        signal?.throwIfAborted();
        if (changes !== this.changes) {
          ({ changes } = this);
          hits = await withCurrentRules(hits, current);
        }
        const results = await this.store.decide(hits, {});
        const retryMs = retryOf(hits, results);
        if (retryMs === undefined) return { hits, results };
        line.nextAt = performance.now() + retryMs;
        if (line.nextAt > until || this.closing.signal.aborted) return { hits, results };
        await this.pause(Math.min(retryMs, ASKS_AGAIN_AFTER_MS), signal);
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
  private async decideLate(hits: readonly RuleHit[], { nextAt }: Line): Promise<Decided> {
    if (nextAt === 0) return { hits, results: await this.store.decide(hits, {}) };
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
