// A process with live rules that a test pauses; see paused-process.spec.ts. It runs the operation in each message, and
// reports its result.
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { RateLimitModule, RateLimitService } from '../../dist/esm/index.js';
import { RedisRuleSource } from '../../dist/esm/redis.js';

const [, , url] = process.argv;
const BY = { by: 'ops@example.com' };

class App {}
const limits = RateLimitModule.forRoot({
  redis: url,
  onDemand: { login: { window: '1h', limit: 10, by: 'ip' } },
  liveRules: new RedisRuleSource({ redis: url }),
});
Module({ imports: [limits] })(App);
const app = await NestFactory.create(App, { logger: false });
await app.init();
const { rules } = app.get(RateLimitService);

const OPERATIONS = {
  set: (limit) => rules.set('login', { limit }, BY),
  restore: () => rules.restore(BY),
  accept: () => rules.accept(BY),
  stall: (forMs) => {
    for (const until = performance.now() + forMs; performance.now() < until;);
  },
  state: () => ({
    limit: rules.list().find(({ rule }) => rule === 'login').fields.limit.value,
    reason: rules.loss?.reason,
  }),
};

process.on('disconnect', () => process.exit());
process.on('message', async ([operation, argument]) => {
  const result = await Promise.resolve(OPERATIONS[operation](argument)).catch(({ name }) => name);
  process.send({ operation, result });
});
process.send('ready');
