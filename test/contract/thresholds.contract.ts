import { describe, expect, it } from '@jest/globals';
import type { Rule, ThresholdEvent } from '../../lib/index.js';
import { everyRule } from './every-rule.js';
import type { Bench } from './limiter-bench.js';

const HOUR = 3_600_000;

/** A rule of each algorithm, and of each of its options, that can have alerts. */
const RULES = everyRule({ limit: 10, windowMs: HOUR }).filter(
  (rule) => !('share' in rule) && !('prefetch' in rule),
);

/** What both processes have reported, as `threshold of subject: permits left`. */
function reportsOf({ limiter, other }: Bench): string[] {
  const reports: string[] = [];
  const report = ({ rule, threshold, subject, limit, remaining }: ThresholdEvent) =>
    reports.push(`${rule} ${threshold} of ${String(subject)}: ${remaining} of ${limit}`);
  limiter.events.on('threshold', report);
  other.events.on('threshold', report);
  return reports;
}

export function thresholdsContract(bench: () => Bench): void {
  describe.each(RULES)('the alerts of $algorithm ($name)', (given) => {
    const rule = { ...given, name: 'mail', alerts: [0.8, 1] } as Rule;

    it('are reported once for all processes when a charge crosses them, and not again after a refund', async () => {
      const it = bench();
      const reports = reportsOf(it);
      const { remaining: most } = await it.limiter.peek(rule, 'ann', { cost: 0 });
      const level = most - Math.ceil(most * 0.8);
      for (let left = most - 1; left > level; left -= 1) await it.limiter.consume(rule, 'ann');
      expect(reports).toEqual([]);
      const crossing = await it.other.consume(rule, 'ann');
      expect(reports).toEqual([`mail 0.8 of ann: ${level} of ${most}`]);
      if (!(await it.other.refund(crossing))) return; // this algorithm refunds no request that others followed
      await it.limiter.consume(rule, 'ann');
      for (let left = level; left > 0; left -= 1) await it.limiter.consume(rule, 'ann');
      expect(reports.slice(1)).toEqual([`mail 1 of ann: 0 of ${most}`]);
      expect((await it.limiter.consume(rule, 'ann')).allowed).toBe(false);
      await it.limiter.consume(rule, 'bob', { cost: most });
      expect(reports.slice(2)).toEqual([`mail 0.8 of bob: 0 of ${most}`, `mail 1 of bob: 0 of ${most}`]);
    });
  });

  const RULE = {
    name: 'tokens',
    algorithm: 'gcra',
    limit: 100,
    window: '1h',
    alerts: [0.5, 0.8, 1],
  } as const;

  it('a listener may charge, refund and reset the other rules of the request', async () => {
    const { limiter, other } = bench();
    const alerting = { name: 'mail', limit: 1, window: '1h', alerts: [1] } as const;
    const rule = { name: 'all', algorithm: 'fixed-window', limit: 10, window: '1h' } as const;
    const operations: ((subject: string) => Promise<unknown>)[] = [
      (subject) => other.consume(rule, subject, { cost: 4 }),
      async (subject) => other.refund(await other.consume(rule, subject, { cost: 4 })),
      (subject) => other.reset(rule, subject),
    ];
    for (const [nth, left] of [5, 9, 10].entries()) {
      const done: Promise<unknown>[] = [];
      const end = limiter.events.on('threshold', ({ subject }) =>
        done.push(operations[nth]!(subject as string)),
      );
      await limiter.consume([alerting, rule], `subject ${nth}`);
      expect(done).toHaveLength(1);
      await Promise.all(done);
      end();
      expect((await limiter.peek(rule, `subject ${nth}`, { cost: 0 })).remaining).toBe(left);
    }
  });

  it('a threshold is reported again in the next window', async () => {
    const it = bench();
    const reports = reportsOf(it);
    await it.limiter.consume(RULE, 'ann', { cost: 60 });
    it.goTo(HOUR - 1);
    await it.limiter.consume(RULE, 'ann', { cost: 70 });
    const first = ['tokens 0.5 of ann: 40 of 100', 'tokens 1 of ann: 40 of 100']; // another 60 would not fit
    expect(reports).toEqual(first);
    it.goTo(3 * HOUR);
    await it.limiter.consume(RULE, 'ann', { cost: 60 });
    expect(reports.slice(2)).toEqual(first);
  });

  it('a threshold of a calendar window is reported again when the month ends', async () => {
    const it = bench();
    const month = {
      name: 'month',
      algorithm: 'fixed-window',
      limit: 10,
      window: 'month',
      alerts: [0.5],
    } as const;
    const reports = reportsOf(it);
    const { decisions } = await it.limiter.consume(month, 'ann', { cost: 6 });
    await it.limiter.consume(month, 'ann', { cost: 4 });
    it.goTo(decisions[0]!.resetAfterMs);
    await it.limiter.consume(month, 'ann', { cost: 6 });
    expect(reports).toEqual(['month 0.5 of ann: 4 of 10', 'month 0.5 of ann: 4 of 10']);
  });

  it('a settlement and a stream cross thresholds as a request does', async () => {
    const it = bench();
    const reports = reportsOf(it);
    const settled = await it.limiter.reserve(RULE, 'ann', { cost: 40 });
    await settled.settle(55);
    expect(reports).toEqual(['tokens 0.5 of ann: 45 of 100']);
    const stream = await it.limiter.reserve(RULE, 'ann', { cost: 10 });
    stream.used(40);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(reports.slice(1)).toEqual(['tokens 0.8 of ann: 5 of 100', 'tokens 1 of ann: 5 of 100']);
    await stream.settle(60);
    expect(reports.length).toBe(3);
  });

  it('neither a denial nor a peek crosses a threshold', async () => {
    const it = bench();
    const reports = reportsOf(it);
    const other = { name: 'requests', algorithm: 'gcra', limit: 1, window: '1h' } as const;
    await it.limiter.consume(other, 'ann');
    await it.limiter.consume([RULE, other] as Rule[], 'ann', { cost: { tokens: 90 } });
    await it.limiter.peek(RULE, 'ann', { cost: 90 });
    expect(reports).toEqual([]);
  });
}
