import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { MemoryStore } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { Collector } from '../../lib/dashboard/collect/collector.js';
import {
  DenialRecord,
  MOST_RESULTS,
  MOST_SUBJECTS,
  SubjectTimelines,
} from '../../lib/dashboard/collect/denial-record.js';
import { hashOf, isSampled } from '../../lib/dashboard/collect/traffic-record.js';

const START = 1_700_000_000_000;
const [MOST_BYTES, MOST_BYTES_OF_LISTS] = [6_000_000, 14_000_000]; // docs/operations.md
const WITHOUT_CHANGES = { table: { changes: new Map(), rulesNamed: () => [] } };

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function bytesUsed(): number {
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

describe('the record of denials', () => {
  it('keeps the last 8,192 results in less than 6 MB, after 100,000 denials of different subjects', async () => {
    const record = new DenialRecord(WITHOUT_CHANGES);
    const collector = new Collector(() => START, record);
    const rule = { name: 'login', window: '1m', limit: 0, algorithm: 'gcra' } as const;
    /** Without what the limiter caches itself. */
    const deny = async (denials: number): Promise<void> => {
      const limiter = new RateLimiter({ store: new MemoryStore({ maxKeys: 100 }) });
      limiter.events.observe(collector);
      for (let nth = denials; nth > 0; nth -= 1)
        await limiter.consume(rule, `${nth}`.padStart(64, '203.0.113.'));
      await limiter.close();
    };
    const before = bytesUsed();
    await deny(100_000);
    const used = bytesUsed() - before;
    expect(used).toBeLessThan(MOST_BYTES);
    const limiter = new RateLimiter({ store: new MemoryStore() });
    limiter.events.observe(collector);
    const last = await limiter.consume(rule, 'last');
    expect(record.find(last.id!)).toMatchObject([{ subject: 'last', at: START, source: 'memory' }]);
    for (let left = MOST_RESULTS; left > 0; left -= 1) await limiter.consume(rule, 'another');
    expect(record.find(last.id!)).toEqual([]);
    expect(collector.rules.get('login')!.recorded(START, 'last', undefined).share).toBeLessThan(1);
  }, 120_000);

  it('takes less than 14 MB if subjects are long lists of characters of two bytes', async () => {
    const collector = new Collector(() => START, new DenialRecord(WITHOUT_CHANGES));
    const rule = { name: 'login', window: '1m', limit: 0, algorithm: 'gcra' } as const;
    const limiter = new RateLimiter({ store: new MemoryStore({ maxKeys: 100 }) });
    limiter.events.observe(collector);
    const deny = async (nth: number) => {
      const parts = Array.from({ length: 8 }, (_, part) => `${nth}-${part}`.padStart(31, '\u0394'));
      await limiter.consume(rule, parts);
    };
    const before = bytesUsed();
    for (let nth = 0; nth < 20_000; nth += 1) await deny(nth);
    await limiter.close();
    expect(bytesUsed() - before).toBeLessThan(MOST_BYTES_OF_LISTS);
    expect(collector.rules.size).toBe(1);
  }, 120_000);

  it('has a denial of several rules whole, or not at all', async () => {
    const record = new DenialRecord(WITHOUT_CHANGES);
    const limiter = new RateLimiter({ store: new MemoryStore() });
    limiter.events.observe(new Collector(() => START, record));
    const rule = (name: string, limit: number) => ({ name, window: '1h', limit, algorithm: 'gcra' }) as const;
    const { id } = await limiter.consume([rule('login', 0), rule('all', 9)], 'ann');
    expect(record.find(id!).map(({ result }) => result.rule)).toEqual(['login', 'all']);
    for (let left = MOST_RESULTS - 1; left > 0; left -= 1) await limiter.consume(rule('login', 0), 'bob');
    expect(record.find(id!)).toEqual([]);
  });
});

describe('the requests of a denied subject', () => {
  /** Fills the record of the preview with other subjects, until it is a sample. */
  function collected() {
    const time = { now: START };
    const store = new MemoryStore({ clock: () => time.now });
    const limiter = new RateLimiter({ store });
    const collector = new Collector(() => time.now, new DenialRecord(WITHOUT_CHANGES));
    limiter.events.observe(collector);
    const rule = { name: 'login', window: '1m', limit: 2, algorithm: 'fixed-window' } as const;
    const fill = async (): Promise<void> => {
      for (let nth = 0; nth < 20_000; nth += 1) await limiter.consume(rule, `other ${nth}`);
    };
    const recorded = (subject: string) =>
      collector.rules.get('login')!.recorded(time.now, subject, undefined);
    return { time, limiter, rule, fill, recorded };
  }

  it('are recorded from its first denial, also if it is not among the sampled subjects', async () => {
    const { time, limiter, rule, fill, recorded } = collected();
    await fill();
    const { share } = recorded('');
    expect(share).toBeLessThan(1);
    const subject = ['ann', 'bob', 'cleo', 'dan', 'eve'].find(
      (each) => !isSampled(hashOf(each), -Math.log2(share)),
    )!;
    for (const at of [1000, 2000, 3000, 3200, 61_000, 62_000]) {
      time.now = START + at;
      await limiter.consume(rule, subject);
    }
    expect(recorded(subject)).toEqual({
      share,
      isWhole: false,
      requests: [
        { at: START + 3000, outcome: 'denied', count: 2 },
        { at: START + 61_000, outcome: 'allowed', count: 1 },
        { at: START + 62_000, outcome: 'allowed', count: 1 },
      ],
    });
  });

  it('are those of the subjects with the latest denials, and of each the last 64', () => {
    const timelines = new SubjectTimelines();
    for (let key = 0; key <= MOST_SUBJECTS; key += 1) timelines.add(key, START, true);
    expect([timelines.read(0), timelines.read(1).length]).toEqual([[], 1]);
    for (let nth = 1; nth <= 100; nth += 1) timelines.add(1, START + nth, false);
    const read = timelines.read(1);
    expect([read.length, read[0]!.at - START, read.at(-1)!.at - START]).toEqual([64, 37, 100]);
  });
});
