import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { RateLimiter } from '../../lib/limiter.js';
import type { RedisStore } from '../../lib/redis.js';
import type { AnyRule } from '../../lib/rules/rule.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { openRedisStore } from '../support/redis-store.js';
import { until } from '../support/redis/until.mjs';
import { VirtualTime } from '../support/virtual-store.js';
import { Herd, type StreamNews, type Streams } from './herd.js';
import { ms } from '../support/milliseconds.js';

const STREAMS = 50;
const CHUNK = 10;
const CHUNKS_A_SECOND = 10;
const HOUR = 3_600_000;
const tokens = { name: 'tokens', window: '1h', limit: 30_000, algorithm: 'gcra' } as const;
const open = { name: 'streams', algorithm: 'concurrency', limit: 200, lease: '1h' } as const;

const sum = (news: readonly StreamNews[], of: keyof StreamNews) =>
  news.reduce((total, each) => total + each[of], 0);

const time = new VirtualTime();
const start = time.now;
let store: RedisStore;
let limiter: RateLimiter;
let prefix: string;
let herd: Herd;

beforeAll(async () => {
  store = await openRedisStore({ clock: time.clock });
});
beforeEach(() => {
  time.now = start;
  prefix = uniquePrefix();
  limiter = new RateLimiter({ store, prefix, onStoreError: 'deny' });
});
afterEach(async () => {
  await herd.stop();
  await limiter.close();
});
afterAll(() => store.close());

async function left(rules: readonly AnyRule[]): Promise<number[]> {
  const { decisions } = await limiter.peek(rules, 'ann', { cost: 0 });
  return decisions.map(({ remaining }) => remaining);
}

describe('a budget that 200 parallel streams of unknown length in four processes share', () => {
  /** Runs the streams until all have ended. */
  async function run(task: Pick<Streams, 'estimate' | 'lengths'>) {
    herd = new Herd(4);
    const rules = [tokens, open];
    const all = { url: redisUrl(), prefix, rules, now: start, streams: STREAMS, chunk: CHUNK, ...task };
    let news = await herd.stream(all);
    const begun = sum(news, 'running');
    for (let step = 0; sum(news, 'running') > 0 && step < 600; step += 1) {
      time.advance(1000 / CHUNKS_A_SECOND);
      herd.setTime(time.now);
      news = await herd.step();
    }
    const refilled = Math.ceil(((time.now - start) * tokens.limit) / HOUR);
    return { begun, refilled, used: sum(news, 'used'), uncharged: sum(news, 'uncharged') };
  }

  it('is exceeded by at most a second of output and a chunk each, and by no more than was not reported yet', async () => {
    const { begun, used, uncharged, refilled } = await run({ estimate: 20, lengths: [2_000] });
    expect(begun).toBe(200);
    expect(used).toBeGreaterThanOrEqual(tokens.limit);
    const overshoot = used - tokens.limit - refilled;
    expect(overshoot).toBeLessThanOrEqual(200 * (CHUNKS_A_SECOND * CHUNK + CHUNK));
    expect(overshoot).toBeLessThanOrEqual(uncharged);
    expect(await left([tokens, open])).toEqual([0, 200]);
  }, 60_000);

  it('is not exceeded at all when the estimates are too high, and has what was not used when all have ended', async () => {
    const { begun, used, refilled } = await run({ estimate: 600, lengths: [20, 50, 120, 200] });
    expect(begun).toBe(tokens.limit / 600);
    expect(used).toBeLessThanOrEqual(tokens.limit);
    const [remaining, streams] = await left([tokens, open]);
    expect(streams).toBe(200);
    expect(remaining).toBeGreaterThanOrEqual(tokens.limit - used);
    expect(remaining).toBeLessThanOrEqual(tokens.limit - used + refilled);
  }, 60_000);

  it('of 100 tokens is not used 663 times by five requests at once (BerriAI/litellm#18730)', async () => {
    herd = new Herd(4);
    const rules = [{ ...tokens, limit: 100 }, open];
    const sizes = { streams: 5, estimate: 50, lengths: [58, 80, 175, 175, 175], chunk: 175 };
    const news = await herd.stream({ url: redisUrl(), prefix, rules, now: start, ...sizes });
    expect(sum(news, 'running')).toBe(2);
    await herd.step();
    expect(await left(rules)).toEqual([0, 200]);
  }, 60_000);
});

describe('three processes with two streams each, one killed with kill -9', () => {
  const LEASE = 300;
  const rules = [tokens, { ...open, limit: 7, lease: ms(LEASE) }] as const;

  const ask = (cost: number) => limiter.peek(rules[1], 'ann', { cost });

  /** The processes renew with real timers, so the clock waits until all have renewed: three permits are free before. */
  async function goTo(at: number): Promise<void> {
    time.now = start + at;
    herd.setTime(time.now);
    await until(async () => (await ask(4)).retryAfterMs === LEASE, 'the living to renew what they hold');
  }

  it('keep their streams, and a customer gets those of the killed process back after the lease, but not its tokens', async () => {
    herd = new Herd(3);
    const sizes = { streams: 2, estimate: 1_000, lengths: [1e9], chunk: CHUNK };
    await herd.stream({ url: redisUrl(), prefix, rules, now: start, ...sizes });
    expect(await left(rules)).toEqual([tokens.limit - 6_000, 1]);
    await herd.killOne();
    for (const at of [100, 200, 299]) {
      await goTo(at);
      expect([at, (await left(rules))[1]]).toEqual([at, 1]);
    }
    for (const at of [300, 400, 500, 600, 700, 800, 900]) {
      await goTo(at);
      expect([at, (await left(rules))[1]]).toEqual([at, 3]);
    }
    await herd.leave();
    const [remaining, streams] = await left(rules);
    expect(streams).toBe(7);
    expect(remaining).toBeGreaterThanOrEqual(tokens.limit - 2_000);
    expect(remaining).toBeLessThanOrEqual(tokens.limit - 2_000 + 8);
  }, 60_000);
});
