import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ConcurrencyRule, Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { RedisStore } from '../../lib/redis.js';
import type { FunctionSupport } from '../../lib/stores/redis/wire/functions.js';
import { library } from '../../lib/stores/redis/wire/library.js';
import { askServer, openAdmin } from '../support/redis/ask-server.js';
import { commandCounts } from '../support/redis/command-counts.js';
import { hasFunctions, luaCalls } from '../support/redis/lua-calls.js';
import { startProxy } from '../support/redis/proxy.js';
import { recordCommands } from '../support/redis/record-commands.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';

const gcra: Rule = { window: '1h', limit: 5, algorithm: 'gcra' };
const blocking = { ...gcra, name: 'blocking', block: '2h' } as const;
const log: Rule = { name: 'log', window: '1h', limit: 5, algorithm: 'sliding-window-log' };
const held: ConcurrencyRule = { name: 'held', algorithm: 'concurrency', limit: 2, lease: '1h' };

const FORMS = hasFunctions ? [true, false] : [false];

describe('the form of the Lua', () => {
  let server: RedisServer;
  let forms: FunctionSupport[];
  let limiter: RateLimiter;
  const opened: { close: () => Promise<void> }[] = [];

  beforeEach(async () => {
    server = await startRedisServer();
    forms = [];
  });

  afterEach(async () => {
    for (const each of opened.splice(0)) await each.close();
    await server.stop();
  });

  async function open(functions: boolean, login = '', port = server.port): Promise<RedisStore> {
    const redis = `redis://${login}127.0.0.1:${port}`;
    const store = new RedisStore({ redis, functions, timeout: 10_000, connectTimeout: 30_000 });
    store.watchFunctionSupport((form) => forms.push(form));
    limiter = new RateLimiter({ store, prefix: uniquePrefix(), onStoreError: 'deny', denyCache: false });
    opened.push(limiter, store);
    await until(
      async () => (await limiter.peek(gcra, 'probe')).source === 'redis',
      'Redis to decide',
      30_000,
    );
    return store;
  }

  /** How many function calls the server has refused before they ran. */
  const refusedForMemory = async () => {
    const stats = String(await askServer(server, 'INFO', 'commandstats'));
    return Number(/^cmdstat_fcall:.*rejected_calls=(\d+)/m.exec(stats)?.[1] ?? 0);
  };

  const { name } = library();
  const asFunctions = { server: '', library: name };
  const asScripts = (reason: unknown) => ({ server: '', reason });
  const user = (...rights: string[]) =>
    askServer(server, 'ACL', 'SETUSER', 'limiter', 'reset', 'on', '>pw', '~*', '&*', '+@all', ...rights);

  describe.each(FORMS)('with functions: %s', (functions) => {
    it('a request is one command', async () => {
      await open(functions);
      await limiter.consume([gcra, log], 'bob'); // The text of a script is sent with its first call.
      const commands = await recordCommands(server.url, () => limiter.consume([gcra, log], 'ann'));
      expect(luaCalls(commands).map((command) => command.name)).toEqual([functions ? 'fcall' : 'evalsha']);
      expect(forms).toEqual([functions ? asFunctions : asScripts('`functions: false`')]);
    });

    it('a server out of memory denies, refunds, releases and resets, but charges nothing', async () => {
      await open(functions);
      const taken = await limiter.consume([gcra, log], 'ann', { cost: 5 });
      const permits = [await limiter.hold(held, 'ann'), await limiter.hold(held, 'ann')];
      await limiter.consume([gcra, log], 'bob', { cost: 5 });
      await limiter.consume(blocking, 'ann', { cost: 5 });
      await askServer(server, 'CONFIG', 'SET', 'maxmemory', '1');
      expect(await limiter.consume([gcra, log], 'ann')).toMatchObject({ allowed: false, source: 'redis' });
      const denied = await limiter.consume(blocking, 'ann'); // There is no memory for the block.
      expect(denied).toMatchObject({ allowed: false, source: 'redis' });
      expect(denied.retryAfterMs).toBeLessThanOrEqual(3_600_000); // That of the window: no block of 2 h begins.
      const third = await limiter.hold(held, 'ann');
      expect([third.allowed, third.decision.source]).toEqual([false, 'redis']);
      expect(await limiter.refund(taken)).toBe(true);
      await permits[0]!.release();
      expect(await limiter.reset([gcra, log], 'bob')).toBe(true);
      for (const subject of ['ann', 'bob'])
        expect(await limiter.peek([gcra, log], subject, { cost: 0 })).toMatchObject({
          remaining: 5,
          source: 'redis',
        });
      expect(await limiter.peek(held, 'ann', { cost: 0 })).toMatchObject({ remaining: 1, source: 'redis' });
      const charge = await limiter.consume([log, gcra], 'new');
      expect(charge).toMatchObject({ allowed: false, source: 'fallback' });
      await askServer(server, 'CONFIG', 'SET', 'maxmemory', '0');
      await until(() => limiter.events.openCircuits.size === 0, 'the breaker to close', 30_000);
      expect(await limiter.peek([log, gcra], 'new', { cost: 0 })).toMatchObject({
        remaining: 5,
        source: 'redis',
      });
    });
  });

  (hasFunctions ? describe : describe.skip)('functions', () => {
    it('an adjustment of several counters that lacks memory for one of them changes none of them, and is made once', async () => {
      await open(true);
      const reservation = await limiter.reserve([log, gcra], 'ann', { cost: { log: 3, default: 3 } });
      const later = await limiter.consume(log, 'ann');
      await askServer(server, 'CONFIG', 'SET', 'maxmemory', '1');
      const store = opened[1] as unknown as RedisStore;
      const adjust = store.adjust.bind(store);
      const seen: unknown[] = [];
      store.adjust = (adjustments, options) => {
        const [refund] = adjustments;
        const charge = { ...refund!, kind: 'charge', cost: 1 } as (typeof adjustments)[number];
        const made = adjust([...adjustments, charge], options);
        made.catch((error: unknown) => seen.push(error));
        return made;
      };
      await limiter.refund(later).catch(() => undefined);
      store.adjust = adjust;
      await until(() => Promise.resolve(seen.length > 0), 'the adjustment to be refused', 30_000);
      expect((await limiter.peek(log, 'ann', { cost: 0 })).remaining).toBe(1);
      await askServer(server, 'CONFIG', 'SET', 'maxmemory', '0');
      await until(() => limiter.events.openCircuits.size === 0, 'the breaker to close', 30_000);
      await until(
        async () => (await limiter.peek(log, 'ann', { cost: 0 })).remaining === 1,
        'one permit to be refunded and one charged',
        30_000,
      );
      expect(reservation.allowed).toBe(true);
    });

    it('a server that does not know FCALL runs scripts', async () => {
      await server.stop();
      server = await startRedisServer({ config: ['rename-command FCALL ""'] });
      await open(true);
      expect(forms).toEqual([asScripts(expect.stringContaining('unknown command'))]);
    });

    it('the library is loaded again when it is missing, for all calls in flight', async () => {
      await open(true);
      for (let round = 0; round < 5; round++) {
        await askServer(server, 'FUNCTION', 'FLUSH');
        const decisions = await Promise.all(
          Array.from({ length: 3 }, (_, nth) => limiter.consume(gcra, `${round} ${nth}`)),
        );
        expect(decisions.map(({ source, remaining }) => [source, remaining])).toEqual(
          decisions.map(() => ['redis', 4]),
        );
      }
      expect(forms).toEqual([asFunctions]);
    });

    it('a call runs as a script if the library is lost whenever it is loaded, and the next as a function', async () => {
      await open(true);
      const admin = openAdmin(server);
      const evals = async () => {
        const counts = await commandCounts(admin);
        return (counts.get('evalsha') ?? 0) + (counts.get('eval') ?? 0);
      };
      let isOver = false;
      const losing = (async () => {
        while (!isOver) {
          const flushes = admin.pipeline();
          for (let nth = 0; nth < 50; nth++) flushes.call('FUNCTION', 'FLUSH');
          await flushes.exec();
        }
      })();
      const many: Rule = { ...gcra, limit: 1000 };
      let sent = 0;
      await until(
        async () => {
          sent += 1;
          const { source, remaining } = await limiter.consume(many, 'ann');
          expect([source, remaining]).toEqual(['redis', 1000 - sent]);
          return (await evals()) > 0;
        },
        'a call to run as a script',
        30_000,
      );
      isOver = true;
      await losing;
      await limiter.consume(many, 'ann'); // loads the library
      const before = await evals();
      expect(await limiter.consume(many, 'ann')).toMatchObject({ source: 'redis', remaining: 998 - sent });
      expect(await evals()).toBe(before);
      expect(forms).toEqual([asFunctions]);
      admin.disconnect();
    }, 60_000);

    it('a server out of memory that has lost the library denies and refunds, also if it loses it during a call', async () => {
      const proxy = await startProxy(server);
      await open(true, '', proxy.port);
      const taken = await limiter.consume(gcra, 'ann', { cost: 5 });
      await askServer(server, 'CONFIG', 'SET', 'maxmemory', '1');
      for (const connection of proxy.connections) connection.holdReplies();
      const before = await refusedForMemory();
      const denied = limiter.consume(gcra, 'ann');
      await until(async () => (await refusedForMemory()) > before, 'the function to be refused', 30_000);
      await askServer(server, 'FUNCTION', 'FLUSH');
      for (const connection of proxy.connections) connection.resume();
      expect(await denied).toMatchObject({ allowed: false, source: 'redis' });
      expect(await limiter.consume(gcra, 'ann')).toMatchObject({ allowed: false, source: 'redis' });
      expect(await limiter.refund(taken)).toBe(true);
      expect(await limiter.consume(gcra, 'new')).toMatchObject({ source: 'fallback' });
      await askServer(server, 'CONFIG', 'SET', 'maxmemory', '0');
      await until(() => limiter.events.openCircuits.size === 0, 'the breaker to close', 30_000);
      expect(await limiter.consume(gcra, 'ann')).toMatchObject({ remaining: 4, source: 'redis' });
      expect(forms).toEqual([asFunctions]);
      await proxy.close();
    }, 60_000);

    it('a user who may not load functions calls the library that another process has loaded', async () => {
      await open(true);
      await user('-function');
      await open(true, 'limiter:pw@');
      expect(forms).toEqual([asFunctions, asFunctions]);
    });

    it('functions run until the server refuses them, and again after a reconnect', async () => {
      await user();
      await open(true, 'limiter:pw@');
      await user('-fcall');
      expect((await limiter.consume(gcra, 'ann')).source).toBe('redis');
      expect(forms).toEqual([asFunctions, asScripts(expect.stringContaining("'fcall'"))]);
      await user();
      await askServer(server, 'CLIENT', 'KILL', 'USER', 'limiter');
      await until(
        async () => (await limiter.peek(gcra, 'ann')).source === 'redis',
        'Redis to decide',
        30_000,
      );
      expect(forms.at(-1)).toEqual(asFunctions);
    });
  });

  (hasFunctions ? describe : describe.skip)('scripts', () => {
    it('scripts run for a user who may not call functions', async () => {
      await user('-fcall');
      await open(true, 'limiter:pw@');
      expect(forms).toEqual([asScripts(expect.stringContaining("'fcall'"))]);
    });

    it('scripts run for a user who may not load functions if the library is missing', async () => {
      await user('-function');
      await open(true, 'limiter:pw@');
      expect(forms).toEqual([asScripts(expect.stringContaining("'function|load'"))]);
    });
  });
});
