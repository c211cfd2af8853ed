import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { afterEach, describe, expect, it } from '@jest/globals';
import { startRedisServer } from '../support/redis/redis-server.mjs';
import { until } from '../support/redis/until.mjs';

const PROGRAM = fileURLToPath(new URL('paused-process.mjs', import.meta.url));

interface State {
  readonly limit: number;
  readonly reason: string | undefined;
}

const closers: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** One of several processes with live rules. */
class Peer {
  constructor(private readonly child: ChildProcess) {}

  async run(operation: string, argument?: number): Promise<unknown> {
    const reply = once(this.child, 'message') as Promise<[{ result?: unknown }]>;
    this.child.send([operation, argument]);
    return (await reply)[0].result;
  }

  async is(expected: Partial<State>, what: string): Promise<void> {
    const seen = async () => (await this.run('state')) as State;
    const isSo = async () => {
      const state = await seen();
      return Object.entries(expected).every(([name, value]) => state[name as keyof State] === value);
    };
    await until(isSo, what, 5000).catch(async (error: unknown) => {
      throw new Error(`${(error as Error).message}: ${JSON.stringify(await seen())}`);
    });
  }

  pause(): void {
    this.child.kill('SIGSTOP');
  }

  resume(): void {
    this.child.kill('SIGCONT');
  }
}

async function startServer() {
  const server = await startRedisServer();
  const redis = new Redis(server.url);
  closers.push(
    () => server.stop(),
    () => redis.disconnect(),
  );
  const start = async () => {
    const child = fork(PROGRAM, [server.url]);
    closers.push(() => child.kill('SIGKILL'));
    await once(child, 'message');
    return new Peer(child);
  };
  return { redis, start };
}

describe('a process that is paused while Redis loses the live rules', () => {
  it('has and reports its rules when it resumes, also to a process that has begun anew meanwhile', async () => {
    const { redis, start } = await startServer();
    const paused = await start();
    await paused.run('set', 3);
    paused.pause();
    await redis.flushall();
    const later = await start();
    await later.is({ limit: 10, reason: undefined }, 'a fresh start');
    await later.run('set', 7);
    paused.resume();
    for (const each of [paused, later]) await each.is({ limit: 3 }, 'the older rules');
    for (const each of [paused, later]) {
      expect(await each.run('state')).toMatchObject({
        reason: 'the live rules in Redis were written anew, into an empty source',
      });
      expect(await each.run('set', 5)).toBe('RateLimitConflictError');
    }
    await later.run('accept');
    for (const each of [paused, later]) await each.is({ limit: 7, reason: undefined }, 'the accepted rules');
  }, 60_000);

  it('takes over what an operator has accepted or restored meanwhile', async () => {
    const { redis, start } = await startServer();
    const [paused, other] = [await start(), await start()];
    await paused.run('set', 3);
    await other.is({ limit: 3 }, 'the change');
    paused.pause();
    await other.run('set', 4);
    await redis.flushall();
    await other.is({ reason: 'Redis has no version of live rules any more' }, 'the loss');
    await other.run('restore');
    paused.resume();
    await paused.is({ limit: 4, reason: undefined }, 'the restored rules');
    paused.pause();
    await redis.flushall();
    await other.is({ reason: 'Redis has no version of live rules any more' }, 'the loss');
    await other.run('accept');
    paused.resume();
    for (const each of [paused, other]) await each.is({ limit: 10, reason: undefined }, 'the accepted rules');
  }, 60_000);

  it('reports the loss after its event loop has stalled', async () => {
    const { redis, start } = await startServer();
    const process = await start();
    await process.run('set', 3);
    const stalled = process.run('stall', 3000);
    await redis.flushall();
    await stalled;
    await process.is({ limit: 3, reason: 'Redis has no version of live rules any more' }, 'the loss');
    expect(await process.run('restore')).toEqual(expect.any(Number));
    await process.is({ limit: 3, reason: undefined }, 'the restored rules');
  }, 60_000);
});
