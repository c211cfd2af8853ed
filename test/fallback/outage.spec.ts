import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { LimitedApps, type Answer, type Counts } from './limited-apps.mjs';
import { allowedIn, FAULTS, outage, sum, type Outage } from './outage.mjs';

const LIMIT = 100;
const PROCESSES = 4;
const SHARE = LIMIT / PROCESSES;
const REQUESTS = 200; // The figures of each process in an outage.

const policyOf = (source: string) => `"default";q=${source === 'fallback' ? SHARE : LIMIT};w=86400`;

function counted(answers: readonly Answer[]): Counts {
  const counts: Partial<Record<Answer['source'], number>> = {};
  for (const { source } of answers) counts[source] = (counts[source] ?? 0) + 1;
  return counts;
}

/** Returns the number of decisions after an instant, for each source that has any. */
function since(before: Counts, after: Counts): Counts {
  const more = Object.entries(after).map(([source, count]) => [
    source,
    count - (before[source as never] ?? 0),
  ]);
  return Object.fromEntries(more.filter(([, count]) => count !== 0)) as Counts;
}

/** Returns the responses and reports of each process in an outage. */
function processesIn({ answers, before, after }: Outage) {
  return answers.map((all, nth) => {
    const [was, is] = [before[nth]!, after[nth]!];
    return {
      sources: counted(all),
      inOutage: counted(all.slice(-REQUESTS)),
      policies: new Set(all.map(({ source, policy }) => `${source} ${policy!}`)),
      reported: (['events', 'metrics'] as const).map((by) => since(was[by], is[by])),
      healthBefore: was.health,
      health: is.health,
      // Without the loss of data by the restart after an earlier outage, which a heartbeat reports within 5 s.
      log: is.log.slice(was.log.length).filter((line) => !line.includes('RL_DATA_LOST')),
    };
  });
}

describe('four Nest applications with a limit of 100', () => {
  let server: RedisServer;
  let apps: LimitedApps;

  beforeAll(async () => {
    server = await startRedisServer();
    await server.kill();
    apps = await LimitedApps.start(PROCESSES, server.url);
  }, 60_000);
  afterAll(async () => {
    await apps.close();
    await server.stop();
  });

  it('four applications allow 100 requests each if Redis was never there, because none knows the others', async () => {
    const { redis, fallback } = allowedIn(await apps.ask(LIMIT + 20, '203.0.113.1'));
    expect([redis, ...fallback]).toEqual([0, LIMIT, LIMIT, LIMIT, LIMIT]);
  });

  describe.each(Object.keys(FAULTS))('whose Redis has counted 40 requests of a client and is %s', (fault) => {
    let seen: Outage;
    beforeAll(async () => {
      if (!server.isUp) await server.restart();
      const client = `203.0.113.${10 + Object.keys(FAULTS).indexOf(fault)}`;
      seen = await outage(server, apps, fault, client);
    }, 120_000);

    it('four applications allow at most 100 more requests together, and each of them at most 25', () => {
      const { redis, fallback } = allowedIn(seen.answers);
      expect(redis).toBeGreaterThanOrEqual(40);
      expect(redis).toBeLessThanOrEqual(LIMIT);
      expect(fallback).toHaveLength(PROCESSES);
      for (const allowed of fallback) expect(allowed).toBeLessThanOrEqual(SHARE);
      expect(sum(fallback)).toBeGreaterThan(0);
    });

    it('each decision has one source in headers, events and metrics', () => {
      for (const { sources, policies, reported } of processesIn(seen)) {
        expect(reported).toEqual([sources, sources]);
        expect(policies).toEqual(
          new Set(Object.keys(sources).map((source) => `${source} ${policyOf(source)}`)),
        );
      }
    });

    if (fault.startsWith('starved')) return; // Redis may decide for a moment.

    it('four applications allow exactly 25 requests each and report the same fallback everywhere', () => {
      expect(allowedIn(seen.answers)).toEqual({ redis: 40, fallback: Array(PROCESSES).fill(SHARE) });
      for (const process of processesIn(seen)) {
        expect(process.inOutage).toEqual({ fallback: REQUESTS });
        for (const { fallback } of process.reported) expect(fallback).toBe(process.sources.fallback);
        expect(process.policies).toContain(`fallback ${policyOf('fallback')}`);
        expect(process.healthBefore).toMatchObject({ status: 'up', degraded: false, servers: [] });
        const reason = process.health.reason!;
        expect(process.health).toMatchObject({ status: 'up', degraded: true, instances: PROCESSES });
        expect(process.health.servers).toEqual([{ server: '', reason }]);
        // The log has the error for which the breaker opened, health the error of its last probe.
        expect(process.log.at(-1)).toMatch(
          /^Redis could not decide \((no connection to )?Redis at .+\); until it does, each process limits in its memory, by its share of the limit\. \(RL_REDIS_UNAVAILABLE, see docs\/warnings\.md\)$/,
        );
        expect(reason).toMatch(/^(no connection to )?Redis at /);
        // Timeouts of a request and of the heartbeat are logged separately, because the breaker opens after three.
        expect(process.log.every((line) => line.startsWith('Redis could not '))).toBe(true);
      }
    });
  });
});
