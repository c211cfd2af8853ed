// A Nest application that records every request it sends and everything it reports, in a separate process. check-history.mjs describes the lines. Its parent causes the faults and sends `{ command, value }`.
//
//   node recording-application.mjs '{ "redis", "file", "instances", "hasOwnClock" }'
import { setTimeout as sleep } from 'node:timers/promises';
import { EVERYBODY, JOBS, POOL, requestOf } from './recorded-rules.mjs';
import { HistoryFile, now } from './history-file.mjs';
import { startLimits } from './reporting-limits.mjs';

const LANES = 8;
const PAUSE_MS = 5;
const HELD_MS = 5;
/** One more than may hold permits. */
const WORKERS = JOBS.limit + 1;
const HEALTH_EVERY_MS = 50;

const { file, ...options } = JSON.parse(process.argv[2]);
const history = new HistoryFile(file);
const { limits, lookAtHealth, step, close } = await startLimits(options, history);

let isOn = true;
let requests = 0;
/** Number of consecutive decisions of Redis. */
let inARow = 0;

/** Sends a request and records it. */
async function request({ name }, subject, cost, ask) {
  const asked = { process: process.pid, rule: name, subject, permit: `${process.pid}-${(requests += 1)}` };
  const sentAt = now();
  const result = await ask();
  const { allowed, source } = result.decision ?? result;
  inARow = source === 'fallback' ? 0 : inARow + 1;
  history.write({ kind: 'request', ...asked, cost, sentAt, answeredAt: now(), allowed, source });
  return { asked, allowed, result };
}

/** Refunds or releases the permits of a request, a moment later. */
async function giveBack(asked, back) {
  await sleep(HELD_MS);
  const sentAt = now();
  const made = await back();
  history.write({ kind: 'return', ...asked, sentAt, endedAt: now(), made });
}

async function lane(nth) {
  for (let turn = nth; isOn; turn += LANES) {
    const { rule, subject, cost, isRefunded } = requestOf(turn);
    const { asked, allowed, result } = await request(rule, subject, cost, () =>
      limits.consume(rule, subject, { cost }),
    );
    if (allowed && isRefunded) await giveBack(asked, () => limits.refund(result));
    await sleep(PAUSE_MS);
  }
}

/** Takes a permit, holds it for a moment and releases it. */
async function job() {
  while (isOn) {
    const { asked, allowed, result } = await request(JOBS, POOL, 1, () => limits.hold(JOBS, POOL));
    if (allowed) await giveBack(asked, async () => void (await result.release()));
    await sleep(PAUSE_MS);
  }
}

/** Returns the reply of Redis, however long a busy machine takes. */
async function peekInRedis(rule, subject) {
  for (;;) {
    const decision = await limits.peek(rule, subject);
    if (decision.source === 'redis') return decision;
    await sleep(PAUSE_MS);
  }
}

async function watchHealth() {
  for (; isOn; await sleep(HEALTH_EVERY_MS)) await lookAtHealth();
}

const load = [
  ...Array.from({ length: LANES }, (_, nth) => lane(nth)),
  ...Array.from({ length: WORKERS }, job),
  watchHealth(),
];

const commands = {
  progress: () => ({ requests, inARow }),
  step,
  /** Stops the load, so that the charges in Redis can be read. */
  async quiet() {
    isOn = false;
    await Promise.all(load);
    await lookAtHealth({ always: true });
    history.flush();
  },
  /** Returns the charges in Redis after all requests, without windows that end meanwhile. */
  async charged() {
    const read = async (rule, subject) => {
      const at = now();
      const { remaining } = await peekInRedis(rule, subject);
      return { kind: 'charged', rule: rule.name, subject, at, used: rule.limit - remaining };
    };
    const known = new Map([[JOBS.name, [JOBS, POOL]]]);
    for (let turn = 0; turn <= requests; turn += 1) {
      const { rule, subject } = requestOf(turn);
      if (subject !== EVERYBODY) known.set(`${rule.name} ${subject}`, [rule, subject]);
    }
    return Promise.all([...known.values()].map(([rule, subject]) => read(rule, subject)));
  },
  end: close,
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
