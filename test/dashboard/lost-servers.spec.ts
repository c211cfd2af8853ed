import { afterEach, describe, expect, it } from '@jest/globals';
import type { RateLimitModuleOptions } from '../../lib/index.js';
import { closeApps } from '../support/nest-app.js';
import { startCluster } from '../support/redis/cluster.js';
import { startSentinel } from '../support/redis/sentinel.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';
import { startDashboard, type DashboardApp } from './dashboard-app.js';

const WAIT = 60_000;
const OUTAGE = /^Redis cannot be read \(.+\): the figures of other processes are the last known ones\.$/;

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  await closeApps();
  for (const close of closers.splice(0)) await close();
});

/** Starts two processes of one application, and waits until the page shows both. */
async function startTwo(redis: RateLimitModuleOptions['redis']): Promise<DashboardApp> {
  const limits = { redis, prefix: uniquePrefix() };
  const [one] = [await startDashboard({ limits }), await startDashboard({ limits })];
  await untilBoth(one);
  return one;
}

async function untilBoth(app: DashboardApp): Promise<void> {
  const sees = async (): Promise<boolean> => {
    const { processes, allUntil } = await app.snapshot();
    return processes.length === 2 && allUntil === null;
  };
  await until(sees, 'both processes to be seen', WAIT);
}

/** Sends requests of many clients until the breaker of a server is not closed. */
async function untilOpen(app: DashboardApp, address: string): Promise<void> {
  let client = 0;
  const isOpen = async (): Promise<boolean> => {
    client = (client + 1) % 250;
    await app.login(`203.0.113.${client}`);
    const { servers } = await app.snapshot();
    return servers.some(({ server, state }) => server === address && state !== 'closed');
  };
  await until(isOpen, `the breaker of ${address || 'Redis'} to open`, WAIT);
}

describe('the operations page on a Redis Cluster', () => {
  it('goes on and shows the problem when the node with its figures is lost, and only the open breaker when another one is', async () => {
    const cluster = await startCluster({
      replicas: false,
      config: ['cluster-require-full-coverage no'],
    });
    closers.push(() => cluster.close());
    const owner = await cluster.ownerOf(await cluster.slotOf('{instances}'));
    const [other, third] = cluster.nodes.filter((node) => node !== owner);
    const app = await startTwo(third!.url);
    await app.login('203.0.113.7');
    await until(async () => (await app.rule('login')).allowed > 0, 'the request to be counted');

    await other!.kill();
    await untilOpen(app, `${other!.host}:${other!.port}`);
    await untilBoth(app);
    await other!.restart();

    await owner.kill();
    await until(async () => (await app.snapshot()).allUntil !== null, 'the problem to be shown', WAIT);
    const { problems, from, processes, rules } = await app.snapshot();
    expect(problems[0]!.text).toMatch(OUTAGE);
    expect([from, processes.length, rules.length]).toEqual(['redis', 2, 2]);
    await untilOpen(app, `${owner.host}:${owner.port}`);
    await owner.restart();
    await untilBoth(app);
  });
});

describe('the operations page behind Sentinel', () => {
  it('goes on and shows the problem while the master is lost, and all processes with the new one', async () => {
    const group = await startSentinel();
    closers.push(() => group.close());
    const app = await startTwo(group.options);
    const old = await group.killMaster();
    await until(async () => (await app.snapshot()).allUntil !== null, 'the problem to be shown', WAIT);
    const { problems, processes, rules } = await app.snapshot();
    expect(problems[0]!.text).toMatch(OUTAGE);
    expect([processes.length, rules.length]).toEqual([2, 2]);
    await untilOpen(app, '');
    await group.untilReplaced(old);
    await untilBoth(app);
    await until(
      async () => (await app.snapshot()).servers[0]?.state === 'closed',
      'the breaker to close',
      WAIT,
    );
  });
});
