// The program of each process of operations.mjs: decides at a steady rate for the time in a message, and replies with its CPU time and its heap.
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { RateLimitModule, RateLimitService } from '../dist/esm/index.js';
import { RateLimitDashboardModule } from '../dist/esm/dashboard.js';

const RULES = 300;
const TICK_MS = 10;
/** A prime number, so that consecutive decisions are of different rules and subjects. */
const STEP = 7919;

const { url, hasPage, subjects } = JSON.parse(process.argv[2]);
const warnings = { RL_DASHBOARD_OPEN: false };
const rule = (nth) => ({ window: '1h', limit: nth % 2 === 0 ? 1_000_000 : 1, algorithm: 'gcra', by: 'user' });
const onDemand = Object.fromEntries(Array.from({ length: RULES }, (_, nth) => [`rule-${nth}`, rule(nth)]));
const limits = RateLimitModule.forRoot({ redis: url, prefix: 'bench:', timeout: 60_000, onDemand, warnings });

class AppModule {}
Module({ imports: [limits, ...(hasPage ? [RateLimitDashboardModule.forRoot({})] : [])] })(AppModule);
const app = await NestFactory.create(AppModule, { logger: false });
await app.listen(0, '127.0.0.1');
const service = app.get(RateLimitService);

const PAIRS = Math.max(RULES, subjects);
const decide = (nth) => service.consume(`rule-${nth % RULES}`, `user-${nth % subjects}`);

/** Half of the rules deny each subject from its second request on. */
async function fill() {
  for (let nth = 0; nth < PAIRS; nth += 1000)
    await Promise.all(Array.from({ length: Math.min(1000, PAIRS - nth) }, (_, each) => decide(nth + each)));
}

async function run({ ms, rate }) {
  const from = performance.now();
  const before = process.cpuUsage();
  const made = [];
  let nth = 0;
  await new Promise((resolve) => {
    const timer = setInterval(() => {
      const seconds = (performance.now() - from) / 1000;
      for (; nth < seconds * rate; nth++) made.push(decide((nth * STEP) % PAIRS));
      if (seconds * 1000 >= ms) resolve(clearInterval(timer));
    }, TICK_MS);
  });
  await Promise.all(made);
  const { user, system } = process.cpuUsage(before);
  const seconds = (performance.now() - from) / 1000;
  made.length = 0;
  globalThis.gc();
  return { decisions: nth, seconds, cpuMicros: user + system, heap: process.memoryUsage().heapUsed };
}

await fill();
process.on('message', async (load) => process.send(await run(load)));
process.once('disconnect', () => process.exit());
process.send({ port: app.getHttpServer().address().port });
