import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { MemoryStore, type Store, type Result } from '../../lib/index.js';
import type { RedisStore } from '../../lib/redis.js';
import { STILL_REAL } from '../contract/still-real.js';
import { DEFINITIONS } from '../support/examples.js';
import { openRedisStore } from '../support/redis-store.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { VirtualTime } from '../support/virtual-store.js';
import { counterOf, lengthOf, RULES_OF, story, type Hit, type Version } from './changing-rule.js';

const START = 1_700_000_040_000_000;

interface Charge {
  readonly at: number;
  readonly cost: number;
  readonly version: Version;
}

/** Returns how long the state of a version is kept after a charge, as documented for its algorithm. */
function longestWait(name: string, version: Version): number {
  const length = lengthOf(name, version);
  const rate = length / version.limit;
  // A proportional bucket has the capacity of its limit, and keeps a part of it for that part of the window.
  if (name.endsWith(' in proportion')) return 4 * length;
  switch (name) {
    case 'sliding-window-counter':
      return 2 * length;
    case 'sliding-window-cells':
      // For cells: the rest of the cell, one more cell, and the window.
      return 3 * length;
    case 'token-bucket':
    case 'gcra':
    case 'leaky-bucket':
      // The time until the most permits that any version allows at once are available again, and a window with
      // `refill: 'interval'`.
      return rate * 14 + length;
    case 'token-bucket that warms up':
      return 3 * length * 4 + version.burst * 1e6;
    case 'fixed-window':
    case 'calendar window':
    case 'sliding-window-log':
    case 'concurrency':
      return length;
    default:
      return Math.max(4 * length, rate * 14 + length);
  }
}

describe('versions of an application with different windows and limits on one counter', () => {
  const time = new VirtualTime();
  let lua: RedisStore;
  let reference: MemoryStore;

  beforeAll(async () => {
    jest.useFakeTimers({ doNotFake: [...STILL_REAL] });
    lua = await openRedisStore({ clock: time.clock });
    reference = new MemoryStore({ clock: time.clock });
  });

  afterAll(async () => {
    await lua.close();
    await reference.close();
  });

  async function ask(
    store: Store,
    key: string,
    name: string,
    version: Version,
    now: number,
    cost: number,
    nth: number,
  ) {
    time.now = now / 1000;
    const hit = { ...counterOf(key, RULES_OF[name]!(version), now), cost, lease: `lease-${nth}` };
    return (await store.decide([hit], {}))[0]!;
  }

  /** Plays a story. Returns the charges, and every wrong wait. */
  async function play(
    name: string,
    { deployed, hits }: { deployed: readonly Version[]; hits: readonly Hit[] },
  ) {
    const key = `${uniquePrefix()}{ann}:rule`;
    const shortest = Math.min(...deployed.map((version) => lengthOf(name, version)));
    const longest = Math.max(...deployed.map((version) => longestWait(name, version)));
    const charges: Charge[] = [];
    const lies: string[] = [];
    let now = START;
    let denied: { version: Version; cost: number; at: number } | undefined;
    for (const [nth, { version: index, after, cost }] of hits.entries()) {
      let version = deployed[index]!;
      let asked = cost;
      if (after === 'retry' && denied) {
        now = Math.max(now, denied.at);
        ({ version, cost: asked } = denied);
      } else if (after === 'long') now += shortest * 3;
      else if (after !== 'retry') now += Math.floor((shortest * after) / 12);

      const verdicts: Result[] = [];
      for (const store of [reference, lua])
        verdicts.push(await ask(store, key, name, version, now, asked, nth));
      const [expected, said] = verdicts.map(({ allowed, remaining, retryAfter, resetAfter, delay }) => {
        return { allowed, remaining, retryAfter, resetAfter, delay };
      });
      expect(said).toEqual(expected);

      const { allowed, retryAfter } = said!;
      if (after === 'retry' && now === denied?.at && !allowed) lies.push(`denied again after ${nth}`);
      denied = undefined;
      if (allowed) charges.push({ at: now, cost: asked, version });
      else if (retryAfter !== null) {
        if (retryAfter > longest) lies.push(`${retryAfter} to wait where ${longest} is the most`);
        if (retryAfter <= 0) lies.push('no time to wait');
        denied = { version, cost: asked, at: now + retryAfter };
      }
    }
    await Promise.all(
      [reference, lua].map((store) => store.reset([counterOf(key, RULES_OF[name]!(deployed[0]!), now)])),
    );
    return { charges, lies };
  }

  const run = (name: string, check: (charges: readonly Charge[], deployed: readonly Version[]) => string[]) =>
    fc.assert(
      fc.asyncProperty(story, async (drawn) => {
        const { charges, lies } = await play(name, drawn);
        expect([...lies, ...check(charges, drawn.deployed)]).toEqual([]);
      }),
      { seed: Number(process.env['PARITY_SEED'] ?? 20_240_229), numRuns: 150, endOnFailure: true },
    );

  it.each(Object.keys(RULES_OF))(
    '%s: versions with different windows agree in both stores, and a client that waits as long as it is told is allowed',
    (name) => run(name, () => []),
    120_000,
  );

  /** While the longest window is in use: the most permits that are allowed in it. */
  function mostInLongest(name: string, charges: readonly Charge[], deployed: readonly Version[]): string[] {
    const longest = Math.max(...deployed.map((version) => lengthOf(name, version)));
    const most = Math.max(...deployed.map(({ limit }) => limit));
    const lies: string[] = [];
    for (const [first, { at, version }] of charges.entries()) {
      if (lengthOf(name, version) < longest) continue;
      // In the window that begins with a charge by the version with the longest window, whichever version the
      // requests use.
      const within = charges.slice(first).filter((charge) => charge.at < at + longest);
      const sum = within.reduce((total, { cost }) => total + cost, 0);
      if (sum > most * FACTOR[name]!) lies.push(`${sum} of ${most} in ${longest} from ${at}`);
    }
    return lies;
  }

  /** Algorithms with a bound for any window, as a multiple of the limit: an estimate allows up to twice the limit. */
  const FACTOR: Readonly<Record<string, number>> = Object.fromEntries(
    DEFINITIONS.filter(({ bound }) => bound === 'any window').flatMap(({ name, exact = true }) =>
      [name, `${name} in proportion`]
        .filter((each) => each in RULES_OF)
        .map((each) => [each, exact ? 1 : 2] as const),
    ),
  );

  it.each(Object.keys(FACTOR))(
    '%s: versions with different windows allow at most the largest limit in the longest window, as far as the algorithm is exact',
    (name) => run(name, (charges, deployed) => mostInLongest(name, charges, deployed)),
    120_000,
  );
});
