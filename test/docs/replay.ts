import type { Decision, ConcurrencyRule, Permit, Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import type { BaseStore } from '../../lib/store.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import type { VirtualTime } from '../support/virtual-store.js';
import type { Example, Row } from './example.js';

const DAY = '2030-01-01';
const UNITS = { ms: 1, s: 1000, min: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Plays an example on a store, and returns its table with the decisions of the store. */
export async function replay({ rule, rows }: Example, store: BaseStore, time: VirtualTime): Promise<Row[]> {
  const limiter = new RateLimiter({ store, prefix: uniquePrefix(), onStoreError: 'deny' });
  const permits = new Map<string, Permit>();
  const played: Row[] = [];
  for (const row of rows) {
    time.now = instantOf(row['at']!);
    const decision = await ask(limiter, rule as Rule & ConcurrencyRule, row, permits);
    played.push({ ...row, ...answerOf(decision, row) });
  }
  await limiter.close();
  return played;
}

/**
 * Plays a row: a request or, in a table with a column `client`, permits that are held, or released if the row has no
 * cost.
 */
async function ask(
  limiter: RateLimiter,
  rule: Rule & ConcurrencyRule,
  { client, cost }: Row,
  permits: Map<string, Permit>,
): Promise<Decision> {
  if (client === undefined) return limiter.consume(rule, 'ann', { cost: Number(cost) });
  if (cost !== '') {
    const permit = await limiter.hold(rule, 'ann', { cost: Number(cost) });
    permits.set(client, permit);
    return permit.decision;
  }
  await permits.get(client)!.release();
  return limiter.peek(rule, 'ann', { cost: 0 });
}

/**
 * Returns the cells of a decision. A cell that the page leaves empty stays empty, and a correct duration keeps its
 * form.
 */
function answerOf({ allowed, remaining, retryAfterMs, resetAfterMs, delayMs }: Decision, row: Row): Row {
  const told = {
    allowed: allowed ? 'yes' : 'no',
    remaining: String(remaining),
    retry: spanLike(row['retry']!, retryAfterMs),
    reset: spanLike(row['reset']!, resetAfterMs),
    delay: spanLike(row['delay'] ?? '', delayMs),
  };
  return Object.fromEntries(
    Object.entries(told).filter(([title]) => row[title] !== undefined && row[title] !== ''),
  );
}

function spanLike(cell: string, milliseconds: number | null): string {
  if (milliseconds === null) return 'never';
  return cell !== '' && spanOf(cell) === milliseconds ? cell : `${milliseconds} ms`;
}

/** Parses `'1 min 30 s'` to milliseconds. */
function spanOf(cell: string): number {
  const parts = [...cell.matchAll(/([\d.]+) (ms|s|min|h|d)\b/g)];
  return Math.round(
    parts.reduce((sum, [, count, unit]) => sum + Number(count) * UNITS[unit as keyof typeof UNITS], 0),
  );
}

/** Parses `'12:00:30'`, with or without a date, to milliseconds since the epoch (UTC). */
function instantOf(cell: string): number {
  const instant = Date.parse(cell.includes('-') ? `${cell.replace(' ', 'T')}Z` : `${DAY}T${cell}Z`);
  if (Number.isNaN(instant)) throw new Error(`not an instant: ${cell}`);
  return instant;
}
