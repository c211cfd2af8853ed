import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { ProcessReports } from '../../lib/dashboard/collect/process-reports.js';
import { closeApps } from '../support/nest-app.js';
import { askServer } from '../support/redis/ask-server.js';
import { startSentinel, type SentinelGroup } from '../support/redis/sentinel.js';
import { until } from '../support/redis/until.mjs';
import { startDashboard, type DashboardApp } from './dashboard-app.js';

const WAIT = 60_000;

describe('the figures of two processes behind Sentinel', () => {
  const real = Date.now;
  let offset = 0;
  let group: SentinelGroup;
  let apps: readonly DashboardApp[];
  /** What the clients counted. */
  let clients: { allowed: number; denied: number };

  beforeEach(async () => {
    offset = 60_000 - (real() % 60_000); // A minute begins.
    clients = { allowed: 0, denied: 0 };
    jest.spyOn(Date, 'now').mockImplementation(() => real() + offset);
    group = await startSentinel();
    const limits = { redis: group.options, prefix: 'f:', timeout: 1000 };
    apps = await Promise.all([startDashboard({ limits }), startDashboard({ limits })]);
  });

  afterEach(async () => {
    jest.restoreAllMocks();
    await closeApps();
    await group.close();
  });

  /** Sends requests of clients to both processes in turn. */
  async function request(first: number): Promise<void> {
    for (let nth = 0; nth < 40; nth += 1) {
      const { status } = await apps[nth % 2]!.login(`203.0.113.${first + (nth >> 3)}`);
      clients[status === 429 ? 'denied' : 'allowed'] += 1;
    }
  }

  const onBoth = (is: (app: DashboardApp) => Promise<boolean>) => async () =>
    (await Promise.all(apps.map(is))).every(Boolean);

  /** Waits until the last hour on both pages has what the clients counted. */
  async function untilCounted(what: string): Promise<void> {
    const isCounted = async ({ snapshot }: DashboardApp): Promise<boolean> => {
      const { minutes, allUntil } = await snapshot();
      const sum = (of: 'allowed' | 'denied') => minutes.reduce((total, each) => total + each[of], 0);
      return allUntil === null && sum('allowed') === clients.allowed && sum('denied') === clients.denied;
    };
    await until(onBoth(isCounted), `${what}: ${JSON.stringify(clients)}`, WAIT);
  }

  it('are those of the clients before and after a failover, with what the fallback decided meanwhile', async () => {
    await request(1);
    await untilCounted('the counts before');
    offset += 60_000;
    await request(11);
    await untilCounted('the counts of two minutes');
    const old = await group.killMaster();
    const isLost = async () => (await apps[0]!.snapshot()).allUntil !== null;
    await until(isLost, 'the outage', WAIT);
    await request(21);
    await group.untilReplaced(old);
    await untilCounted('the counts with those of the outage');
    await request(31);
    await untilCounted('the counts after');
    const { minutes } = await apps[0]!.snapshot();
    expect(minutes.reduce((sum, { fallback }) => sum + fallback, 0)).toBeGreaterThanOrEqual(1);
  });

  it('lack a minute that the master had not replicated, as a gap and not as a zero', async () => {
    await request(1);
    await untilCounted('the counts before');
    const [lost] = (await apps[0]!.snapshot()).minutes.map(({ at }) => at);
    const old = await group.master();
    const replicas = group.servers.filter((server) => server !== old);
    await Promise.all(replicas.map((replica) => replica.pause()));
    await askServer(old, 'CLIENT', 'KILL', 'TYPE', 'replica'); // What the master writes from now on is lost.
    offset += 60_000;
    await request(11);
    await untilCounted('the counts of two minutes');
    // Each process must have the reply: it adds a minute again whose reply it has not received.
    const kept = () => apps.flatMap(({ app }) => app.get(ProcessReports).collector.minutes.kept);
    const isAdded = () => kept().every(({ minute }) => minute > lost! / 60_000);
    await until(isAdded, 'both processes to add the first minute', WAIT);
    await group.killMaster();
    await Promise.all(replicas.map((replica) => replica.resume()));
    await group.untilReplaced(old);
    clients = { allowed: clients.allowed / 2, denied: clients.denied / 2 };
    // The replica has the records of before, with the first minute, until each process has published again.
    const hasGap = async ({ snapshot }: DashboardApp) =>
      (await snapshot()).minutes.every(({ at }) => at !== lost);
    await until(onBoth(hasGap), 'the gap of the lost minute', WAIT);
    await untilCounted('the counts without those of the lost minute');
    expect((await apps[1]!.snapshot()).minutes.map(({ at }) => at)).not.toContain(lost);
  });
});
