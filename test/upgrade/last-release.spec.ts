import { execFileSync, fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { algorithms } from '../../lib/algorithms/registry.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';

const LIMIT = 20;
const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** The build of commit 7fe1b94. At a release, the build of that release takes its place. */
const TARBALL = here('last-release.tgz');
const LAST = here('../../.cache/last-release');
const NOW = here('../../dist');

/** A process of a build. */
class Release {
  private id = 0;

  private constructor(readonly child: ChildProcess) {}

  static async start(build: string, prefix: string): Promise<Release> {
    const child = fork(here('release-process.cjs'), [build, redisUrl(), prefix], { execArgv: [] });
    await once(child, 'message');
    return new Release(child);
  }

  async ask<Value>(name: string, value?: unknown): Promise<Value> {
    const id = (this.id += 1);
    this.child.send({ id, name, value });
    const [answer] = (await once(this.child, 'message')) as [{ value: Value; error?: string }];
    if (answer.error !== undefined) throw new Error(answer.error);
    return answer.value;
  }

  async stop(): Promise<void> {
    const ended = once(this.child, 'exit');
    this.child.kill();
    await ended;
  }
}

/** A rule of each algorithm with the same window and format in both builds. */
const RULES = Object.values(algorithms).map(({ name, ...algorithm }) => {
  const window = 'leases' in algorithm ? {} : { window: '1h' };
  // The default queue of a leaky bucket has one permit more than the limit.
  const most = name === 'leaky-bucket' ? LIMIT + 1 : LIMIT;
  return { name, most, rule: { name, algorithm: name, limit: LIMIT, ...window } };
});

describe('the last release and this build on one Redis, as during a deploy', () => {
  const prefix = uniquePrefix();
  let last: Release;
  let now: Release;

  beforeAll(async () => {
    mkdirSync(LAST, { recursive: true });
    execFileSync('tar', ['-xzf', TARBALL, '-C', LAST]);
    [last, now] = await Promise.all([Release.start(LAST, prefix), Release.start(NOW, prefix)]);
  });

  afterAll(() => Promise.all([last?.stop(), now?.stop()]));

  it.each(RULES)('together allow at most the limit with $name', async ({ rule, most }) => {
    let allowed = 0;
    for (let nth = 0; nth < 2 * LIMIT; nth += 1) {
      if (await (nth % 2 ? now : last).ask<boolean>('consume', rule)) allowed += 1;
    }
    expect(allowed).toBe(most);
    expect([await last.ask('errors'), await now.ask('errors')]).toEqual([[], []]);
  });

  it('count each other as processes that share the limit', async () => {
    for (const release of [last, now]) {
      await until(async () => (await release.ask<number>('instances')) === 2, 'two processes', 60_000);
    }
  });

  it('read each other’s changes of live rules', async () => {
    for (const [limit, writer] of [
      [11, last],
      [12, now],
    ] as const) {
      await writer.ask('write', { rule: 'live', fields: { limit } });
      for (const release of [last, now]) {
        await until(async () => (await release.ask<number>('liveLimit')) === limit, 'the change', 60_000);
      }
    }
  });

  it('are both on the operations page of each', async () => {
    const pids = [last, now].map(({ child }) => child.pid).sort();
    for (const release of [last, now]) {
      const sees = async () => String((await release.ask<number[]>('page')).sort()) === String(pids);
      await until(sees, 'both processes', 60_000);
    }
  });
});

describe('the last release after a rollback from this build', () => {
  it('continues the states that this build has left', async () => {
    const prefix = uniquePrefix();
    const counted = RULES.filter(({ name }) => name !== 'concurrency');
    const now = await Release.start(NOW, prefix);
    for (const { rule } of counted) {
      for (let nth = 0; nth < LIMIT / 2; nth += 1) expect(await now.ask('consume', rule)).toBe(true);
    }
    await now.stop();
    const last = await Release.start(LAST, prefix);
    for (const { rule, most } of counted) {
      let allowed = LIMIT / 2;
      while (await last.ask<boolean>('consume', rule)) allowed += 1;
      expect([rule.name, allowed]).toEqual([rule.name, most]);
    }
    expect(await last.ask('errors')).toEqual([]);
    await last.stop();
  });
});
