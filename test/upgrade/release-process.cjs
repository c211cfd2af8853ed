// A process of a build: an application with live rules and the operations page, and a limiter of its own. It answers each
// message with what it has found.
require('reflect-metadata');
const { createRequire } = require('node:module');
const { join } = require('node:path');
const { Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');

const [, , build, url, prefix] = process.argv;
const load = (entry) => createRequire(join(build, 'cjs/'))(`./${entry}.js`);
const { RateLimitModule, RateLimitService } = load('index');
const { RateLimiter } = load('limiter');
const { RedisRuleSource, RedisStore } = load('redis');
const { RateLimitDashboardModule } = load('dashboard');

const errors = [];
const store = new RedisStore({ redis: url, timeout: 10_000 });
const limiter = new RateLimiter({ store, prefix });
limiter.events.on('storeError', ({ error }) => errors.push(error.message));
const source = new RedisRuleSource({ redis: url, key: `${prefix}rules` });

class App {}
Module({
  imports: [
    RateLimitModule.forRoot({
      ...{ redis: url, prefix: `${prefix}app:`, timeout: 10_000, liveRules: source },
      onDemand: { live: { window: '1h', limit: 7, by: 'x-tenant' } },
      warnings: { RL_DASHBOARD_OPEN: false },
    }),
    RateLimitDashboardModule.forRoot(),
  ],
})(App);

const asked = {
  consume: async (rule) => {
    const isHeld = rule.algorithm === 'concurrency';
    return (await (isHeld ? limiter.hold(rule, 'ann') : limiter.consume(rule, 'ann'))).allowed;
  },
  instances: () => limiter.instanceCount,
  write: (change) => source.write({ ...change, by: 'test' }).then(() => true),
  liveLimit: async (_, app) => (await app.get(RateLimitService).peek('live', 'ann')).limit,
  page: async (_, app) => {
    const { processes } = await (await fetch(`${await app.getUrl()}/rate-limits/snapshot`)).json();
    return processes.map(({ pid }) => pid);
  },
  errors: () => errors,
};

(async () => {
  const app = await NestFactory.create(App, { logger: false });
  await app.listen(0, '127.0.0.1');
  await limiter.ready();
  process.on('message', async ({ id, name, value }) => {
    try {
      process.send({ id, value: await asked[name](value, app) });
    } catch (error) {
      process.send({ id, error: String(error) });
    }
  });
  process.once('disconnect', () => process.exit());
  process.once('SIGTERM', async () => {
    await app.close();
    await limiter.close();
    await store.close();
    process.exit();
  });
  process.send({ id: 0 });
})();
