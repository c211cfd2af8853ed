import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { MemoryStore, type Rule } from '../../lib/index.js';
import type { DecideOptions, Result } from '../../lib/store.js';
import type { RedisStore } from '../../lib/redis.js';
import { RedisKeys } from '../support/redis-keys.js';
import { openRedisStore } from '../support/redis-store.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { VirtualTime } from '../support/virtual-store.js';
import { EVERY_KIND } from './every-option.js';
import { EVERY_OPTION, EVERY_RULE } from './every-rule.js';
import { decideInTurn, decideTogether, Requests, underPrefix, type Request } from './redis-batch.js';

const peek: DecideOptions = { dryRun: true };
const patient: DecideOptions = { maxWait: 4e6 };
const debt: DecideOptions = { maxWait: Infinity };

describe('a list of requests in one call', () => {
  const time = new VirtualTime();
  const memory = new MemoryStore({ clock: time.clock });
  let store: RedisStore;
  let together: RedisKeys;
  let inTurn: RedisKeys;
  let prefixes: [string, string];
  let requests: Requests;

  beforeAll(async () => {
    store = await openRedisStore({ clock: time.clock });
  });

  beforeEach(() => {
    prefixes = [uniquePrefix(), uniquePrefix()];
    [together, inTurn] = [new RedisKeys(redisUrl(), prefixes[0]), new RedisKeys(redisUrl(), prefixes[1])];
    requests = new Requests(prefixes[0], time.clock);
  });

  afterEach(() => {
    together.close();
    inTurn.close();
  });

  afterAll(async () => {
    await memory.close();
    await store.close();
  });

  const decide = (...list: Request[]) => decideTogether(together.redis, time.clock, list);

  /**
   * Expects that a call decides its list as if each request had come alone, in Redis and in the memory store, and
   * leaves the same bytes.
   */
  async function expectAsInTurn(...list: Request[]): Promise<void> {
    const said = await decide(...list);
    expect(said).toEqual(await decideInTurn(store, underPrefix(...prefixes, list)));
    expect(said).toEqual(await decideInTurn(memory, list));
    expect(await bytesOf(together, prefixes[0])).toEqual(await bytesOf(inTurn, prefixes[1]));
  }

  it.each(EVERY_OPTION)(
    'five of seven requests in one call are allowed with a limit of five: $algorithm ($name)',
    async (rule) => {
      const said = await decide(...Array.from({ length: 7 }, () => requests.of(rule)));
      expect(said.map(([verdict]) => [verdict!.allowed, verdict!.remaining])).toEqual([
        ...[4, 3, 2, 1, 0].map((remaining) => [true, remaining]),
        [false, 0],
        [false, 0],
      ]);
    },
  );

  it('a request in a batch that one rule denies is charged nothing, and the others are charged in full', async () => {
    const tight: Rule = { name: 'tight', algorithm: 'sliding-window-log', limit: 2, window: '1m' };
    const rules = [...EVERY_RULE, tight];
    const said = await decide(
      requests.of(rules),
      requests.of(rules, 2),
      requests.of(EVERY_RULE),
      requests.of(rules, 1, {}, 'bob'),
      requests.of(rules),
    );
    const each = (remaining: number) => EVERY_RULE.map(() => remaining);
    expect(said.map(figures)).toEqual([
      { allowed: true, remaining: [...each(4), 1] },
      { allowed: false, remaining: [...each(4), 1] },
      { allowed: true, remaining: each(3) },
      { allowed: true, remaining: [...each(4), 1] },
      { allowed: true, remaining: [...each(2), 0] },
    ]);
  });

  it.each(EVERY_KIND)(
    'requests for one key in a batch are decided as if each had come alone: $algorithm ($name)',
    async (rule) => {
      const ask = (cost: number, how?: DecideOptions) => requests.of(rule, cost, how);
      for (const advance of [0, 1234.567, 8000, 60_000]) {
        time.advance(advance);
        await expectAsInTurn(ask(2), ask(1, peek), ask(2), ask(2), ask(0), ask(6), ask(1, patient), ask(1));
        await expectAsInTurn(ask(3, debt), ask(5, peek), ask(1, patient), ask(1), ask(1));
      }
    },
  );

  it('any batch of requests is decided as if each had come alone', async () => {
    const request = fc.record({
      rules: fc.uniqueArray(fc.constantFrom(...EVERY_KIND), { minLength: 1, maxLength: 4 }),
      cost: fc.nat(6),
      ask: fc.constantFrom<DecideOptions>({}, {}, {}, peek, patient, debt),
      subject: fc.constantFrom('ann', 'ann', 'bob'),
    });
    const call = fc.tuple(fc.nat(9000), fc.array(request, { minLength: 2, maxLength: 10 }));
    const property = fc.asyncProperty(fc.array(call, { minLength: 2, maxLength: 5 }), async (calls) => {
      for (const [advance, list] of calls) {
        time.advance(advance);
        await expectAsInTurn(
          ...list.map((each) => requests.of(each.rules, each.cost, each.ask, each.subject)),
        );
      }
    });
    await fc.assert(property, { seed: 20_240_229, numRuns: 40 });
  });
});

function figures(verdicts: readonly Result[]) {
  return {
    allowed: verdicts.every(({ allowed }) => allowed),
    remaining: verdicts.map(({ remaining }) => remaining),
  };
}

async function bytesOf(keys: RedisKeys, prefix: string): Promise<[name: string, dump: string][]> {
  return Object.entries(await keys.contents()).map(([name, { dump }]) => [name.slice(prefix.length), dump]);
}
