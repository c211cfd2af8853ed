import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { MemoryStore } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { Collector } from '../../lib/dashboard/collect/collector.js';
import { reportOf, type ProcessReport } from '../../lib/dashboard/collect/process-report.js';
import { totalsOf } from '../../lib/dashboard/collect/totals.js';

const PROCESS = {
  ...{ id: 'p', host: 'h', pid: 1, since: 0, servers: [], package: '1.0.0', liveRules: '' },
  ...{ problems: [], hasEnded: false, keptMs: 60_000 },
};
const START = 1_700_000_000_000;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function heapUsed(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

const seen = (report: ProcessReport) => ({ ...report, seenMs: 0, isCurrent: true });

/** A limiter in memory whose decisions are collected, with a clock. */
function collected() {
  const time = { now: START };
  const limiter = new RateLimiter({ store: new MemoryStore({ clock: () => time.now, maxKeys: 1000 }) });
  const collector = new Collector(() => time.now);
  limiter.events.observe(collector);
  const totals = () => totalsOf([seen(reportOf(PROCESS, collector))], Math.floor(time.now / 1000) + 1);
  return { time, limiter, collector, totals };
}

describe('the figures of a process', () => {
  it('are those of a timeline', async () => {
    const { time, limiter, totals } = collected();
    const rule = { name: 'login', window: '1m', limit: 2, algorithm: 'fixed-window' } as const;
    const outcomes: boolean[] = [];
    for (const at of [0, 100, 200, 1000, 2500]) {
      time.now = START + at;
      outcomes.push((await limiter.consume(rule, 'ann')).allowed);
    }
    expect(outcomes).toEqual([true, true, false, false, false]);
    const { seconds, rules, shares } = totals();
    const last = [
      { at: START, allowed: 2, denied: 1 },
      { at: START + 1000, allowed: 0, denied: 1 },
      { at: START + 2000, allowed: 0, denied: 1 },
    ];
    expect(seconds).toEqual(last);
    expect(shares).toEqual({ store: 1, cache: 0, prefetched: 0, fallback: 0 });
    const login = rules.get('login')!;
    expect(login.seconds).toEqual(last);
    expect([login.allowed, login.denied]).toEqual([2 / 9.5, 3 / 9.5]);
    expect(login.top).toEqual([['ann', 3, 0, undefined]]);
    time.now = START + 70_000;
    expect(totals().rules.get('login')!.seconds).toEqual([]);
  });

  it('state how many results of further rules are missing, and count a new rule when another is idle', async () => {
    const { time, limiter, totals } = collected();
    const consume = (name: string) =>
      limiter.consume({ name, window: '1m', limit: 1, algorithm: 'gcra' }, 'ann');
    for (let nth = 0; nth < 100; nth += 1) await consume(`rule-${nth}`);
    expect(totals().uncounted).toBe(0);
    time.now += 9500;
    for (let nth = 1; nth < 100; nth += 1) await consume(`rule-${nth}`);
    for (let nth = 0; nth < 19; nth += 1) await consume('new');
    expect(totals().uncounted).toBe(2);
    expect(totals().rules.has('new')).toBe(false);
    time.now += 52_000;
    await consume('new');
    expect(totals().uncounted).toBe(0);
    expect([totals().rules.has('rule-0'), totals().rules.has('new')]).toEqual([false, true]);
  });

  it('separate what shadow rules and trial limits would deny', async () => {
    const { limiter, totals } = collected();
    const shadow = { name: 'shadow', window: '1m', limit: 1, mode: 'shadow' } as const;
    const trial = { name: 'trial', window: '1m', limit: 3, trial: { limit: 1 } } as const;
    for (let nth = 0; nth < 4; nth += 1) await limiter.consume([shadow, trial], 'ann');
    const figures = (name: string) => {
      const { allowed, denied, wouldDeny, trialDeny } = totals().rules.get(name)!;
      return [allowed, denied, wouldDeny, trialDeny].map((rate) => Math.round(rate * 9));
    };
    expect(figures('shadow')).toEqual([4, 0, 3, 0]);
    expect(figures('trial')).toEqual([3, 1, 0, 3]);
  });

  it('take bounded memory and a bounded report for 300,000 subjects and 1,000 rules', async () => {
    const { limiter, collector } = collected();
    const denying = { name: 'closed', window: '1m', limit: 0, algorithm: 'fixed-window' } as const;
    const warm = async (subjects: number) => {
      for (let nth = 0; nth < subjects; nth += 1)
        await limiter.consume(denying, `subject-${nth}-${'x'.repeat(40)}`);
    };
    await warm(40_000);
    const before = heapUsed();
    await warm(300_000);
    expect(heapUsed() - before).toBeLessThan(20_000_000);
    for (let nth = 0; nth < 1000; nth += 1) {
      await limiter.consume({ ...denying, name: `rule-${nth}` }, `x`.repeat(250));
    }
    expect(collector.rules.size).toBe(100);
    const report = reportOf(PROCESS, collector);
    expect(JSON.stringify(report).length).toBeLessThan(56 * 1024);
    const { top } = totalsOf([seen(report)], 0).rules.get('closed')!;
    expect(top[0]![1] - top[0]![2]).toBeGreaterThan(0);
  });
});
