// One of several processes that decide by a live rule; see four-processes.spec.ts. It asks for permits of one subject as
// fast as its event loop allows. At the message 'stop' it reports which limits it has used when, and when its allowed
// requests were sent and answered.
import 'reflect-metadata';
import { setTimeout as sleep } from 'node:timers/promises';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { RateLimitModule, RateLimitService } from '../../dist/esm/index.js';
import { RedisRuleSource } from '../../dist/esm/redis.js';

const [, , url, prefix, window] = process.argv;

class App {}
const limits = RateLimitModule.forRoot({
  redis: url,
  prefix,
  timeout: 2000,
  onDemand: { hot: { window, limit: 1, by: 'x-tenant' } },
  liveRules: new RedisRuleSource({ redis: url, key: `${prefix}rules` }),
});
Module({ imports: [limits] })(App);
const app = await NestFactory.create(App, { logger: false });
await app.init();
const service = app.get(RateLimitService);

const seen = []; // [limit, first, last] of each run of decisions by one limit
const allowed = []; // [sent, answered]
let isOver = false;

const ask = async () => {
  while (!isOver) {
    const sent = Date.now();
    const decision = await service.consume('hot', 'subject');
    const answered = Date.now();
    if (decision.allowed) allowed.push([sent, answered]);
    const last = seen.at(-1);
    if (last?.[0] === decision.limit) last[2] = sent;
    else seen.push([decision.limit, sent, sent]);
    await sleep(2);
  }
};
const asking = [ask(), ask(), ask()];
process.on('disconnect', () => process.exit());
process.once('message', async () => {
  isOver = true;
  await Promise.all(asking);
  process.send({ seen, allowed });
});
process.send('ready');
