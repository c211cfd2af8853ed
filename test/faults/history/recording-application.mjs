// A Nest application that writes down every request it makes and everything it reports, in a process of its own.
// check-history.mjs describes the lines. Its parent makes the faults and sends `{ command, value }`.
//
//   node recording-application.mjs '{ "url", "file", "instances" }'
import { createWriteStream } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { NestFactory } from '@nestjs/core';
import {
  RateLimitEvents,
  RateLimitHealth,
  RateLimitModule,
  RateLimitService,
} from '../../../dist/esm/index.js';
import { JOBS, RULES, subjectOf } from './recorded-rules.mjs';

const LANES = 8;
const PAUSE_MS = 5;
const HELD_MS = 5;
const HEALTH_EVERY_MS = 50;

const { url, file, instances } = JSON.parse(process.argv[2]);
const history = createWriteStream(file);
let lines = 0;
const write = (line) => history.write(`${JSON.stringify(line)}\n`) && (lines += 1);
const now = () => Number(process.hrtime.bigint()) / 1e6; // one clock for all processes of a machine
const report = (by, what) => write({ kind: 'report', at: now(), process: process.pid, by, ...what });

/** Nest's logger, as a list of what it was given. */
const logger = Object.fromEntries(
  ['log', 'warn', 'error', 'fatal', 'debug', 'verbose'].map((level) => [
    level,
    (message, context) => context === 'RateLimit' && report('log', { level, message: String(message) }),
  ]),
);

class AppModule {}
const options = { redis: url, prefix: 'history:', timeout: 50, onStoreError: 'local', instances };
const app = await NestFactory.createApplicationContext(
  { module: AppModule, imports: [RateLimitModule.forRoot(options)] },
  { logger },
);
const limits = app.get(RateLimitService);
const health = app.get(RateLimitHealth);
const events = app.get(RateLimitEvents);
events.on('breaker', ({ state, server }) => report('event', { event: 'breaker', state, server }));
events.on('storeError', ({ error, call }) =>
  report('event', { event: 'storeError', call, message: String(error) }),
);
process.on('unhandledRejection', (error) => report('process', { message: `unhandled: ${String(error)}` }));

let isOn = true;
let requests = 0;
/** How many decisions in a row Redis has made. */
let inARow = 0;

async function request(rule, subject, ask) {
  const permit = `${process.pid}-${(requests += 1)}`;
  const sentAt = now();
  const result = await ask();
  const { allowed, source } = result.decision ?? result;
  inARow = source === 'fallback' ? 0 : inARow + 1;
  write({
    kind: 'request',
    process: process.pid,
    rule,
    subject,
    permit,
    sentAt,
    answeredAt: now(),
    allowed,
    source,
  });
  return { allowed, permit, held: result };
}

async function lane(nth) {
  for (let turn = nth; isOn; turn += LANES) {
    const rule = RULES[turn % RULES.length];
    const subject = subjectOf(rule, turn);
    await request(rule.name, subject, () => limits.consume(rule, subject));
    await sleep(PAUSE_MS);
  }
}

/** Takes a permit, holds it for a moment and releases it. */
async function job() {
  while (isOn) {
    const { allowed, permit, held } = await request(JOBS.name, 'pool', () => limits.hold(JOBS, 'pool'));
    if (allowed) {
      await sleep(HELD_MS);
      const sentAt = now();
      await held.release();
      write({
        kind: 'release',
        process: process.pid,
        rule: JOBS.name,
        subject: 'pool',
        permit,
        sentAt,
        endedAt: now(),
      });
    }
    await sleep(PAUSE_MS);
  }
}

/** What Redis says, however late it is on a busy machine. */
async function peekInRedis(rule, subject) {
  for (;;) {
    const decision = await limits.peek(rule, subject);
    if (decision.source === 'redis') return decision;
    await sleep(PAUSE_MS);
  }
}

let known = '';

async function lookAtHealth() {
  const askedAt = now();
  const { rateLimit } = await health.isHealthy();
  const { status, degraded } = rateLimit;
  if (known !== `${status} ${degraded}`) report('health', { askedAt, status, degraded, details: rateLimit });
  known = `${status} ${degraded}`;
}

async function watchHealth() {
  for (; isOn; await sleep(HEALTH_EVERY_MS)) await lookAtHealth();
}

const load = [...Array.from({ length: LANES }, (_, nth) => lane(nth)), job(), job(), watchHealth()];

const commands = {
  progress: () => ({ requests, inARow, lines }),
  /** Ends the load, so that what Redis has charged can be read. */
  async quiet() {
    isOn = false;
    await Promise.all(load);
    known = '';
    await lookAtHealth();
  },
  /** What Redis has charged each of some subjects, read when no request is under way. */
  async charged(subjects) {
    for (const [name, subject] of subjects) {
      const rule = RULES.find((each) => each.name === name);
      const { remaining } = await peekInRedis(rule, subject);
      write({ kind: 'charged', rule: name, subject, at: now(), used: rule.limit - remaining });
    }
  },
  async end() {
    await app.close();
    await new Promise((resolve) => history.end(resolve));
  },
};

process.on('message', async ({ command, value }) => {
  try {
    const answer = await commands[command](value);
    process.send({ answer }, () => command === 'end' && process.disconnect());
  } catch (error) {
    process.send({ error: String(error) });
  }
});
process.on('disconnect', () => process.exit());
process.send('ready');
