import { execFileSync, fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { algorithms } from '../../lib/algorithms/registry.js';
import type { ConcurrencyRule, Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { openRedisStore } from '../support/redis-store.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';

const LIMIT = 20;
const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** The build of commit 2c9a2d9, whose states had formats without a version in their keys. */
const TARBALL = here('earlier-build.tgz');
const BUILD = here('../../.cache/earlier-build');

/** What a process of the earlier build sends. */
interface Message {
  readonly allowed?: boolean;
  readonly error?: string;
}

describe('processes of an earlier build and of this one on one Redis, as during a deploy', () => {
  const prefix = uniquePrefix();
  const errors: string[] = [];
  let earlier: ChildProcess;
  let limiter: RateLimiter;
  let close: () => Promise<void>;

  beforeAll(async () => {
    mkdirSync(BUILD, { recursive: true });
    execFileSync('tar', ['-xzf', TARBALL, '-C', BUILD]);
    earlier = fork(here('earlier-process.cjs'), [BUILD, redisUrl(), prefix], { execArgv: [] });
    await once(earlier, 'message');
    const store = await openRedisStore();
    limiter = new RateLimiter({ store, prefix });
    limiter.events.on('storeError', ({ error }) => errors.push(String(error)));
    close = async () => {
      await limiter.close();
      await store.close();
    };
  });

  afterAll(async () => {
    const ended = once(earlier, 'exit');
    earlier.send(null as never);
    await ended;
    await close();
  });

  /** Sends a request to the earlier build. */
  async function ask(rule: Rule | ConcurrencyRule): Promise<boolean> {
    earlier.send(rule);
    const [{ allowed, error }] = (await once(earlier, 'message')) as [Message];
    if (error !== undefined) errors.push(error);
    return allowed === true;
  }

  it.each(Object.values(algorithms))(
    'allow at most the sum of their limits with $name, and neither changes the states of the other',
    async ({ name, ...algorithm }) => {
      const leases = 'leases' in algorithm;
      const window = leases ? {} : { window: '1h' };
      const rule = { name, algorithm: name, limit: LIMIT, ...window } as Rule & ConcurrencyRule;
      const allowed = { earlier: 0, now: 0 };
      for (let nth = 0; nth < 2 * LIMIT; nth += 1) {
        if (await ask(rule)) allowed.earlier += 1;
        const { allowed: isAllowed } = leases
          ? await limiter.hold(rule, 'ann')
          : await limiter.consume(rule, 'ann');
        if (isAllowed) allowed.now += 1;
      }
      // The default queue of a leaky bucket has one permit more than the limit.
      const most = name === 'leaky-bucket' ? LIMIT + 1 : LIMIT;
      expect({ allowed, errors }).toEqual({ allowed: { earlier: most, now: most }, errors: [] });
    },
  );
});
