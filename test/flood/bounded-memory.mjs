// A Nest application with the operations page, whose subjects are parts of long strings: more of them than the caches
// hold. It prints the growth of the heap in MB after each kind of flood.
//
//   REDIS_URL=redis://127.0.0.1:6379 node --expose-gc bounded-memory.mjs SUBJECTS MAX_KEYS RULES
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { RateLimitDashboardModule } from '../../dist/esm/dashboard.js';
import { RateLimitEvents, RateLimitModule, RateLimitService } from '../../dist/esm/index.js';

const { REDIS_URL } = process.env;
const [SUBJECTS, MAX_KEYS, RULES] = process.argv.slice(2).map(Number);
const AT_A_TIME = 100;

class App {}
const limits = RateLimitModule.forRoot({ redis: REDIS_URL, maxKeys: MAX_KEYS, timeout: 5000 });
Module({ imports: [limits, RateLimitDashboardModule.forRoot()] })(App);
const app = await NestFactory.create(App, { logger: false, abortOnError: false });
await app.init();
app.get(RateLimitEvents).on('decision', ({ subjects }) => void subjects);
const service = app.get(RateLimitService);

const hour = { window: '1h', algorithm: 'gcra' };
const open = { ...hour, name: 'open', limit: 100 };
const closed = { ...hour, name: 'closed', limit: 1, block: 'manual' };
const hot = { ...hour, name: 'hot', limit: 100, prefetch: { permits: 2, ttl: '1m' } };
const slow = { name: 'slow', algorithm: 'fixed-window', window: '1h', limit: 1 };
const held = { name: 'held', algorithm: 'concurrency', limit: 1, lease: '1h', queue: 10_000 };

/** A string as it comes from the network, in one piece. */
const received = (text) => Buffer.from(text, 'utf16le').toString('utf16le');
const pad = 'p'.repeat(4000);
/** A reference to a part of a long string. */
const sliceOf = (text) => received(`${text}?${pad}`).slice(0, text.length);
const short = (nth) => sliceOf(`short-subject-number-${String(nth).padStart(40, '0')}`);
const wide = (nth) => sliceOf(`wide-subject-\u{1f600}-number-${nth}`);
const long = (nth) => received(`long-subject-number-${nth}-${pad}`);
const list = (nth) => [short(nth), wide(nth), long(nth), '203.0.113.7'];

/** Keeps clients waiting, and lets them hang up. */
async function waiting(begin) {
  for (let first = 0; first < SUBJECTS / 2; first += AT_A_TIME) {
    const clients = Array.from({ length: AT_A_TIME }, () => new AbortController());
    const waits = clients.map(({ signal }, nth) => begin(short(0), signal).catch(() => long(nth)));
    await turn();
    for (const client of clients) client.abort();
    await Promise.all(waits);
  }
}

const twice = async (rule, subject) => {
  await service.consume(rule, subject);
  await service.consume(rule, subject);
};
const ofEach = (act) => async () => {
  for (let first = 0; first < SUBJECTS; first += AT_A_TIME) {
    await Promise.all(Array.from({ length: AT_A_TIME }, (_, nth) => act(first + nth)));
  }
};
const page = Array.from({ length: RULES - 5 }, (_, nth) => ({ ...closed, name: `rule-${nth}` }));

const FLOODS = {
  'short subjects': ofEach((nth) => service.consume(open, short(nth))),
  'wide subjects': ofEach((nth) => service.consume(open, wide(nth))),
  'long subjects': ofEach((nth) => service.consume(open, long(nth))),
  'denials of short subjects': ofEach((nth) => twice(closed, short(nth))),
  'denials of long subjects': ofEach((nth) => twice(closed, long(nth))),
  'denials of lists': ofEach((nth) => twice(closed, list(nth))),
  'prefetched permits': ofEach((nth) => service.consume(hot, long(nth))),
  'denials of many rules': ofEach((nth) => twice(page[nth % page.length], list(nth))),
  'waits for a window': async () => {
    await service.consume(slow, short(0));
    const end = new AbortController();
    const first = service.acquire(slow, short(0), { signal: end.signal }).catch(() => undefined);
    await waiting((subject, signal) => service.acquire(slow, subject, { signal }));
    ends.push(async () => (end.abort(), await first));
  },
  'waits for a permit': async () => {
    await service.hold(held, short(0));
    await waiting((subject, signal) => service.hold(held, subject, { signal, maxWait: '1m' }));
  },
  'waits that end without a permit': ofEach(() => service.hold(held, short(0), { maxWait: '1ms' })),
};
const ends = [];

async function heap() {
  for (let times = 0; times < 3; times++) {
    globalThis.gc();
    await turn();
  }
  return process.memoryUsage().heapUsed;
}

await service.consume(open, 'before');
const before = await heap();
const grown = async () => Math.round((await heap()) - before) / 1e6;
for (const [name, flood] of Object.entries(FLOODS)) {
  await flood();
  console.log(JSON.stringify({ name, grown: await grown() }));
}
for (const end of ends) await end();
await sleep(2500); // Denials end after a second, and are then dropped within a second.
console.log(JSON.stringify({ name: 'after the floods', grown: await grown() }));
await app.close();
