// The tasks of worker.mjs. Each takes its options and the limiter, and returns its result.
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';

/** Requests permits. Returns how many hits were allowed. */
export async function consume({ rules, hits, inFlight }, { limiter }) {
  let admitted = 0;
  await inTurns(hits, inFlight, async () => {
    const { allowed, source } = await limiter.consume(rules, 'everyone');
    if (source === 'fallback') throw new Error('Redis did not answer');
    if (allowed) admitted++;
  });
  return admitted;
}

/** Requests permits for each tenant in turn. Returns how many hits of each were allowed. */
export async function share({ rules: [rule], tenants, hits, inFlight }, { limiter }) {
  const allowed = tenants.map(() => 0);
  let nth = 0;
  await inTurns(hits, inFlight, async () => {
    const index = nth++ % tenants.length;
    const decision = await limiter.consume(rule, tenants[index]);
    if (decision.source === 'fallback') throw new Error('Redis did not answer');
    if (decision.allowed) allowed[index]++;
  });
  return allowed;
}

/** Takes and releases permits. Returns the most permits that all processes held at once, as counted by Redis. */
export async function hold({ rules: [rule], hits, inFlight }, { url, prefix, limiter }) {
  const redis = new Redis(url);
  const inside = `${prefix}inside`;
  let most = 0;
  await inTurns(hits, inFlight, async () => {
    let permit;
    do permit = await limiter.hold(rule, 'everyone');
    while (!permit.allowed);
    most = Math.max(most, await redis.incr(inside));
    await redis.decr(inside);
    await permit.release();
  });
  redis.disconnect();
  return most;
}

/**
 * Waits for permits. Returns for each when it was reserved, when it becomes available, the reported wait, and when
 * the wait ended.
 */
export async function acquire({ rules: [rule], hits, inFlight }, { url, store, open }) {
  const redis = new Redis(url);
  const places = [];
  await inTurns(hits, inFlight, async () => {
    let outcome;
    const decide = async (...asked) => (outcome = await store.decide(...asked));
    const limiter = open(Object.assign(Object.create(store), { decide }));
    const { allowed, delayMs } = await limiter.acquire(rule, 'everyone');
    if (!allowed) throw new Error('Was given no place');
    const [seconds, microseconds] = await redis.time();
    places.push({
      givenAt: outcome[0].now,
      placeAt: outcome[0].now + outcome[0].delay,
      delayMs,
      wentAt: Number(seconds) * 1e6 + Number(microseconds),
    });
  });
  redis.disconnect();
  return places;
}

/** Takes permits, reports whether they were allowed, and holds them until the message to release them. */
export async function enter({ rules: [rule], cost }, { limiter, tell, next }) {
  const permit = await limiter.hold(rule, 'everyone', { cost });
  tell(permit.allowed);
  await next();
  await permit.release();
  return 'left';
}

/**
 * Waits for permits, all at once, and enters with each: for each entry the lease and when it joined the queue (the
 * server's microseconds), how often the store was asked, and the most that were inside at once, of all processes.
 */
export async function wait({ rules: [rule], hits, stay = 0 }, { url, prefix, store, open }) {
  const redis = new Redis(url);
  const inside = `${prefix}inside`;
  const joined = new Map();
  let [asks, most] = [0, 0];
  const decide = async (asked, options) => {
    const results = await store.decide(asked, options);
    for (const [index, { lease }] of asked.entries()) {
      if (!joined.has(lease)) joined.set(lease, results[index].now);
      asks++;
    }
    return results;
  };
  const limiter = open(Object.assign(Object.create(store), { decide }));
  await inTurns(hits, hits, async () => {
    const permit = await limiter.hold(rule, 'everyone', { maxWait: '2m' });
    if (!permit.allowed) throw new Error('Was not let in');
    most = Math.max(most, await redis.incr(inside));
    if (stay > 0) await sleep(stay);
    await redis.decr(inside);
    await permit.release();
  });
  await limiter.close();
  redis.disconnect();
  return { joined: [...joined], asks, most };
}

/**
 * Opens streams that reserve an estimate of the first rule, and sends a chunk of each at every message 'step', until they
 * are complete or their budget is used up; 'leave' ends all. Replies to each message with the streams that run, what all
 * have used, and the part of it that was not charged when Redis last had permits left for the stream.
 */
export async function stream({ rules, streams, estimate, lengths, chunk }, { limiter, tell, next }) {
  const [{ name }] = rules;
  const open = await Promise.all(
    Array.from({ length: streams }, async (_, nth) => {
      const budget = await limiter.reserve(rules, 'ann', { cost: { [name]: estimate } });
      return { budget, used: 0, charged: estimate, length: lengths[nth % lengths.length] };
    }),
  );
  const all = open.filter(({ budget }) => budget.allowed);
  let running = all;
  const news = () => ({
    running: running.length,
    used: all.reduce((sum, { used }) => sum + used, 0),
    uncharged: all.reduce((sum, { used, charged }) => sum + Math.max(0, used - charged), 0),
  });
  const settle = (ended) => Promise.all(ended.map(({ budget, used }) => budget.settle({ [name]: used })));
  tell(news());
  while ((await next()) === 'step') {
    const ended = running.filter((each) => {
      each.used = Math.min(each.length, each.used + chunk);
      return !each.budget.used({ [name]: each.used }) || each.used === each.length;
    });
    await settle(ended);
    running = running.filter((each) => !ended.includes(each));
    await Promise.all(running.map(({ budget }) => budget.usage?.sent));
    for (const each of running) {
      const [{ left, charged }] = each.budget.usage.uses;
      if (left > 0) each.charged = estimate + charged;
    }
    tell(news());
  }
  await settle(running);
  return news();
}

/** Calls a function a number of times, with limited concurrency. */
async function inTurns(times, atOnce, act) {
  let begun = 0;
  const oneByOne = async () => {
    while (begun++ < times) await act();
  };
  await Promise.all(Array.from({ length: atOnce }, oneByOne));
}
