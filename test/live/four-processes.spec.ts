import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from '@jest/globals';
import { RedisRuleSource } from '../../lib/redis.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';

const PROGRAM = fileURLToPath(new URL('live-process.mjs', import.meta.url));
const PROCESSES = 4;
const CHANGES = process.env['LIVE'] === 'full' ? 300 : 30;
const WINDOW_MS = 1000;
const [LEAST, MOST] = [20, 39];

interface Report {
  readonly seen: readonly (readonly [limit: number, first: number, last: number])[];
  readonly allowed: readonly (readonly [sent: number, answered: number])[];
}

interface Change {
  readonly limit: number;
  readonly sentAt: number;
  readonly doneAt: number;
}

const processes: ChildProcess[] = [];

afterAll(() => {
  for (const each of processes) each.kill('SIGKILL');
});

/** How long after the next change a limit was still used, in milliseconds. */
function staleness([limit, , last]: Report['seen'][number], changes: readonly Change[]): number {
  const index = changes.findLastIndex((change) => change.limit === limit && change.sentAt <= last);
  const next = changes[index + 1];
  return next ? Math.max(0, last - next.doneAt) : 0;
}

/** The largest number of requests that were certainly decided within less than a window. */
function mostInAWindow(allowed: readonly (readonly [sent: number, answered: number])[]): number {
  const sorted = allowed.toSorted(([one], [other]) => one - other);
  return Math.max(
    ...sorted.map(([start], first) => {
      const isInside = ([, answered]: readonly [number, number]) => answered < start + WINDOW_MS;
      return sorted.slice(first).filter(isInside).length;
    }),
  );
}

describe('four processes on one Redis, with a change every 100 ms under load', () => {
  it('no process uses a limit for more than a second after its change, and no window has more than the largest limit', async () => {
    const prefix = uniquePrefix();
    const source = new RedisRuleSource({ redis: redisUrl(), key: `${prefix}rules` });
    await source.write({ rule: 'hot', fields: { limit: LEAST }, by: 'test' });
    for (let index = 0; index < PROCESSES; index += 1) {
      processes.push(fork(PROGRAM, [redisUrl(), prefix, `${WINDOW_MS}ms`]));
    }
    await Promise.all(processes.map((each) => once(each, 'message')));

    const changes: Change[] = [{ limit: LEAST, sentAt: 0, doneAt: 0 }];
    for (let index = 1; index <= CHANGES; index += 1) {
      const limit = LEAST + (index % (MOST - LEAST + 1));
      const sentAt = Date.now();
      await source.write({ rule: 'hot', fields: { limit }, by: 'test' });
      changes.push({ limit, sentAt, doneAt: Date.now() });
      await sleep(100);
    }
    const reports = await Promise.all(
      processes.map(async (each) => {
        const report = once(each, 'message') as Promise<[Report]>;
        each.send('stop');
        return (await report)[0];
      }),
    );
    await source.close();

    const runs = reports.map(({ seen }) => seen.length);
    const latest = Math.max(...reports.flatMap(({ seen }) => seen.map((run) => staleness(run, changes))));
    const most = mostInAWindow(reports.flatMap(({ allowed }) => allowed));
    process.stderr.write(
      `live rules: ${CHANGES} changes, ${runs.join(', ')} limits used by the processes; an old one for at most ${latest} ms; ` +
        `at most ${most} requests in a window of ${WINDOW_MS} ms with limits up to ${MOST}\n`,
    );
    expect(Math.min(...runs)).toBeGreaterThan(CHANGES / 3);
    expect(latest).toBeLessThanOrEqual(1000);
    expect(most).toBeLessThanOrEqual(MOST);
  }, 120_000);
});
