import { Controller, Get } from '@nestjs/common';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { algorithms, type AlgorithmName } from '../../lib/algorithms/registry.js';
import { RateLimitHealth, RateLimitModule, type RateLimitModuleOptions } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { commandsOf } from '../../lib/stores/redis/wire/script.js';
import { closeApps, startApp } from '../support/nest-app.js';
import { askServer } from '../support/redis/ask-server.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { until } from '../support/redis/until.mjs';

@Controller()
class Routes {
  @Get() get() {}
}

type Rules = NonNullable<RateLimitModuleOptions['rules']>;

const NAMES = Object.keys(algorithms) as AlgorithmName[];
/** A rule with every algorithm. On a new counter, none of them denies, and the server rejects nothing. */
const EVERY = Object.fromEntries(
  NAMES.map((algorithm) => [
    algorithm,
    algorithm === 'concurrency' ? { algorithm, limit: 5 } : { algorithm, limit: 5, window: '1h' },
  ]),
) as Rules;
const COMMANDS = commandsOf(Object.values(algorithms));

describe('a user of Redis with a missing right', () => {
  let server: RedisServer;

  beforeAll(async () => {
    server = await startRedisServer({ config: ['user limiter on >s3cret ~* &* +@all -ltrim'] });
  });
  afterEach(closeApps);
  afterAll(() => server.stop());

  const grant = (...rights: string[]) => askServer(server, 'ACL', 'SETUSER', 'limiter', ...rights);

  async function permitAllBut(...commands: string[]) {
    await askServer(server, 'ACL', 'LOG', 'RESET');
    await grant('reset', 'on', '>s3cret', '~*', '&*', '+@all', ...commands.map((name) => `-${name}`));
  }

  /** Returns how often the server has rejected a command. */
  async function refusals(): Promise<number> {
    const entries = (await askServer(server, 'ACL', 'LOG')) as unknown[][];
    return entries.reduce((sum, fields) => sum + Number(fields[fields.indexOf('count') + 1]), 0);
  }

  async function start(rules: Rules) {
    const redis = `redis://limiter:s3cret@127.0.0.1:${server.port}`;
    const { app, logs } = await startApp(
      {
        imports: [RateLimitModule.forRoot({ redis, rules, onStoreError: 'local', timeout: 10_000 })],
        controllers: [Routes],
      },
      { framework: 'express' },
    );
    const limiter = app.get(RateLimiter);
    const turns: string[] = [];
    limiter.events.on('breaker', ({ state }) => turns.push(state));
    const health = async () => (await app.get(RateLimitHealth).isHealthy()).rateLimit;
    const errors = () => logs.ours().filter(({ level }) => level === 'error');
    const warnings = () => logs.ours().filter(({ level }) => level === 'warn');
    return { limiter, errors, warnings, turns, health };
  }

  const missing = (commands: string) =>
    expect.stringContaining(`does not permit ${commands} (NOPERM); see "Access"`);
  const peek = { limit: 1, window: '1s', algorithm: 'gcra' } as const;

  it.each(COMMANDS)(
    'a missing right is reported at start, before a counter needs it: %s',
    async (command) => {
      await permitAllBut(command);
      const { limiter, errors, turns, health } = await start(EVERY);
      expect(errors()).toEqual([{ level: 'error', message: missing(`the command ${command}`) }]);
      expect(await health()).toMatchObject({ degraded: true, reason: missing(`the command ${command}`) });
      const before = await refusals();
      await until(async () => (await refusals()) >= before + 3, 'probes', 20_000);
      expect(turns).toEqual([]);
      expect((await limiter.peek(peek, 'ann')).source).toBe('fallback');
      await grant(`+${command}`);
      await until(() => turns.length > 0, 'the breaker to close', 20_000);
      expect(turns).toEqual(['closed']);
      expect((await limiter.peek(peek, 'ann')).source).toBe('redis');
      const isGone = async () => ((await askServer(server, 'KEYS', '*probe*')) as string[]).length === 0;
      await until(isGone, 'nothing to be left of the probes');
    },
  );

  it.each([
    ['the command PUBLISH', '-publish'],
    ['a channel that the limiter needs', 'resetchannels'],
  ])('a user who may not publish is one warning at start and in health: %s', async (what, right) => {
    await grant('reset', 'on', '>s3cret', '~*', '&*', '+@all', right);
    const { limiter, errors, warnings, health } = await start(EVERY);
    expect(errors()).toEqual([]);
    const message = expect.stringMatching(`does not permit ${what} \\(NOPERM\\).*RL_CHANGES_UNREPORTED`);
    expect(warnings()).toEqual([{ level: 'warn', message }]);
    expect(await health()).toMatchObject({ degraded: false, warnings: ['RL_CHANGES_UNREPORTED'] });
    expect((await limiter.consume(peek, 'ann')).source).toBe('redis');
  });

  it('all missing rights are named in one line', async () => {
    await permitAllBut('ltrim', 'llen', 'zremrangebyrank');
    const { errors } = await start(EVERY);
    expect(errors()).toEqual([
      { level: 'error', message: missing('the commands LTRIM, ZREMRANGEBYRANK, LLEN') },
    ]);
  });

  it('a missing right that no rule needs has no effect', async () => {
    await permitAllBut('ltrim', 'rpush', 'zadd');
    const { limiter, errors, health } = await start({ few: { window: '1h', limit: 5, algorithm: 'gcra' } });
    expect(errors()).toEqual([]);
    expect((await limiter.consume(peek, 'ann')).source).toBe('redis');
    expect((await health()).degraded).toBe(false);
  });

  it('a missing right to write is found for a rule with limit 0', async () => {
    await permitAllBut('set');
    const { errors } = await start({ none: { window: '1h', limit: 0, algorithm: 'gcra' } });
    expect(errors()).toEqual([{ level: 'error', message: missing('the command SET') }]);
  });

  it('the breaker stays open for missing rights when the server is first reached after the start', async () => {
    await server.kill();
    const { limiter, errors, turns, health } = await start(EVERY);
    await server.restart(); // With the rights in its configuration.
    await until(
      async () => (await health()).reason?.includes('LTRIM') === true,
      'the cause to be known',
      20_000,
    );
    const before = await refusals();
    await until(async () => (await refusals()) >= before + 3, 'probes', 20_000);
    expect([turns, errors()]).toEqual([[], [{ level: 'error', message: missing('the command LTRIM') }]]);
    await grant('+ltrim');
    await until(() => turns.length > 0, 'the breaker to close', 20_000);
    expect((await limiter.peek(peek, 'ann')).source).toBe('redis');
  });
});
