import type { Redis } from 'ioredis';
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { LuaModule } from '../../../contracts/lua-module.js';
import { Deadline } from './deadline.js';
import { hideArguments, isError } from './reply-error.js';
import { isUserClient, type RedisConnection } from '../redis-option.js';
import { firstConnection } from './connection.js';
import { CurrentClient } from './current-client.js';

/** Time limits of the connection and its calls, in milliseconds. */
const BOUNDS = { timeout: 900, connectTimeout: 1000, socketTimeout: 2000 };

/** The connection to a Redis that live rules and the operations page of a process share. */
class ControlConnection {
  users = 0;
  private readonly deadline = new Deadline(BOUNDS.timeout);
  private readonly current: CurrentClient;
  private isSettled = false;
  /** The first connection, which all calls wait for. */
  private settling: Promise<void> | undefined;

  constructor(readonly redis: RedisConnection) {
    this.current = new CurrentClient(redis, BOUNDS);
    this.current.client.on('error', () => undefined); // The call that fails reports it.
  }

  /** Connects first, to the whole Cluster if the server is a node of one. */
  async call<Reply>(run: (redis: Redis) => Promise<Reply>): Promise<Reply> {
    const { current } = this;
    if (!this.isSettled) await (this.settling ??= this.settle());
    try {
      return await this.deadline.within(run(current.client as unknown as Redis));
    } catch (error) {
      if (isError(error)) hideArguments(error);
      if (error instanceof Error && error.message.startsWith('MOVED')) this.isSettled = false;
      const fault = current.faultOfCall('', error);
      throw current.connection.isReady ? error : fault;
    }
  }

  close(): void {
    this.current.close();
    this.deadline.close();
  }

  private async settle(): Promise<void> {
    const { current } = this;
    try {
      await firstConnection(current.client, BOUNDS.connectTimeout);
      await current.settle();
      this.isSettled = current.client.status === 'ready';
    } finally {
      this.settling = undefined;
    }
  }
}

const open = new Set<ControlConnection>();

/**
 * Access to Redis for live rules and the operations page, whose commands may take longer than a decision may wait. The
 * connection opens with the first call. All accesses of a process with the same client or equal options share it, and
 * the last one closes it. A call after `close` opens a connection and closes it with its reply, since an open one keeps
 * the process from exiting.
 */
export class Control {
  private connection: ControlConnection | undefined;
  private isClosed = false;
  private calls = 0;

  constructor(private readonly redis: RedisConnection) {}

  /** Keeps the connection open between calls again, until `close`. */
  open(): void {
    this.isClosed = false;
  }

  /**
   * Runs commands.
   *
   * @throws Error of Redis; StoreFault if there is no connection; DeadlineError without a reply in 900 ms
   */
  async call<Reply>(run: (redis: Redis) => Promise<Reply>): Promise<Reply> {
    this.calls += 1;
    try {
      return await (this.connection ??= this.join()).call(run);
    } finally {
      this.calls -= 1;
      if (this.isClosed && this.calls === 0) this.leave();
    }
  }

  /** Runs a script, which is loaded if the server does not have it. */
  run({ needs, text }: LuaModule, keys: readonly string[], args: readonly unknown[]): Promise<unknown> {
    const lua = [...needs.map((each) => each.text), text].join('\n');
    const sha = createHash('sha1').update(lua).digest('hex');
    const all = [keys.length, ...keys, ...args] as [number, ...string[]];
    return this.call((redis) =>
      redis.evalsha(sha, ...all).catch((error: unknown) => {
        if ((error as Error).message.startsWith('NOSCRIPT')) return redis.eval(lua, ...all);
        throw error;
      }),
    );
  }

  close(): void {
    this.isClosed = true;
    this.leave();
  }

  private leave(): void {
    const { connection } = this;
    this.connection = undefined;
    if (!connection || --connection.users > 0) return;
    open.delete(connection);
    connection.close();
  }

  private join(): ControlConnection {
    const { redis } = this;
    const known = [...open].find((each) => isSame(each.redis, redis));
    const connection = known ?? new ControlConnection(redis);
    open.add(connection);
    connection.users += 1;
    return connection;
  }
}

/** Whether two values of the option `redis` lead to the same server as the same user; in doubt not. */
function isSame(one: RedisConnection, other: RedisConnection): boolean {
  if (one === other) return true;
  const isClient = [one, other].some((each) => typeof each === 'object' && isUserClient(each));
  return !isClient && isDeepStrictEqual(one, other);
}
