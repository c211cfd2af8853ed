// A Nest application that records every request it sends and everything it reports, in a separate process. check-history.mjs describes the lines. Its parent causes the faults and sends `{ command, value }`.
//
//   node recording-application.mjs '{ "redis", "file", "instances", "hasOwnClock" }'
import { setTimeout as sleep } from 'node:timers/promises';
import { EVERYBODY, JOBS, LINED, outcomeOf, POOL, QUEUED, requestOf, WAIT_MS } from './recorded-rules.mjs';
import { HistoryFile, now } from './history-file.mjs';
import { startLimits } from './reporting-limits.mjs';

const LANES = 8;
const PAUSE_MS = 5;
const HELD_MS = 5;
/** One more than may hold permits. */
const WORKERS = JOBS.limit + 1;
/** For each rule; those of two processes are more than it allows in its window, so that some are denied. */
const WAITERS = 4;
/** For the permits of `QUEUED`. */
const HOLDERS = 3;
const HEALTH_EVERY_MS = 50;

const { file, ...options } = JSON.parse(process.argv[2]);
const history = new HistoryFile(file);
const { limits, lookAtHealth, step, close } = await startLimits(options, history);

let isOn = true;
let requests = 0;
/** Number of consecutive decisions of Redis. */
let inARow = 0;
/** The kinds of outcomes so far: rule, source, and whether the rule allows. */
const outcomes = new Set();

/** Sends a request and records it, with one line for each rule. */
async function request(rules, subject, cost, ask) {
  const permit = `${process.pid}-${(requests += 1)}`;
  const asked = rules.map(({ name }) => ({ process: process.pid, rule: name, subject, permit }));
  const sentAt = now();
  const result = await ask();
  const { allowed, source, decisions } = result.decision ?? result;
  const answeredAt = now();
  inARow = source === 'fallback' ? 0 : inARow + 1;
  for (const [nth, each] of asked.entries()) {
    const alone = { allowed, source };
    const { allowed: isAllowed } = decisions[nth];
    outcomes.add(outcomeOf(each.rule, source, isAllowed));
    const ofSeveral = { allowed: isAllowed, source, together: permit, refused: !allowed };
    const outcome = rules.length === 1 ? alone : ofSeveral;
    history.write({ kind: 'request', ...each, cost, sentAt, answeredAt, ...outcome });
  }
  return { asked, allowed, result };
}

/** Refunds, releases or settles the permits of a request, a moment later. */
async function giveBack(asked, back, line = { kind: 'return' }) {
  await sleep(HELD_MS);
  const sentAt = now();
  const made = await back();
  const endedAt = now();
  for (const each of asked) history.write({ ...line, ...each, sentAt, endedAt, made });
}

async function lane(nth) {
  for (let turn = nth; isOn; turn += LANES) {
    const { rules, subject, cost, actual, isRefunded } = requestOf(turn);
    const { asked, allowed, result } = await request(rules, subject, cost, () =>
      actual === undefined
        ? limits.consume(rules, subject, { cost })
        : limits.reserve(rules, subject, { cost }),
    );
    if (allowed && isRefunded) await giveBack(asked, () => limits.refund(result));
    if (allowed && actual !== undefined)
      await giveBack(asked, async () => void (await result.settle(actual)), { kind: 'settle', cost: actual });
    await sleep(PAUSE_MS);
  }
}

/** Waits for permits of a window. */
async function waiter(rule) {
  while (isOn) {
    await request([rule], EVERYBODY, 1, () => limits.acquire(rule, EVERYBODY, { maxWait: `${WAIT_MS}ms` }));
    await sleep(PAUSE_MS);
  }
}

/** Takes a permit, which it waits for if it has options, holds it for a moment and releases it. */
async function job(rule, options) {
  while (isOn) {
    const { asked, allowed, result } = await request([rule], POOL, 1, () => limits.hold(rule, POOL, options));
    if (allowed) await giveBack(asked, async () => void (await result.release()));
    await sleep(PAUSE_MS);
  }
}

/** Returns the reply of Redis, however long a busy machine takes. */
async function peekInRedis(rule, subject) {
  for (;;) {
    const decision = await limits.peek(rule, subject, { cost: 0 });
    if (decision.source === 'redis') return decision;
    await sleep(PAUSE_MS);
  }
}

async function watchHealth() {
  for (; isOn; await sleep(HEALTH_EVERY_MS)) await lookAtHealth();
}

const load = [
  ...Array.from({ length: LANES }, (_, nth) => lane(nth)),
  ...Array.from({ length: WORKERS }, () => job(JOBS)),
  ...Array.from({ length: HOLDERS }, () => job(QUEUED, { maxWait: `${WAIT_MS}ms` })),
  ...LINED.flatMap((rule) => Array.from({ length: WAITERS }, () => waiter(rule))),
  watchHealth(),
];

const commands = {
  progress: () => ({ requests, inARow, outcomes: [...outcomes] }),
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
    const known = new Map([JOBS, QUEUED].map((rule) => [rule.name, [rule, POOL]]));
    for (let turn = 0; turn <= requests; turn += 1) {
      const { rules, subject } = requestOf(turn);
      if (subject === EVERYBODY) continue;
      for (const rule of rules) known.set(`${rule.name} ${subject}`, [rule, subject]);
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
