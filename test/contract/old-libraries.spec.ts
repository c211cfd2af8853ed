import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { RedisStore } from '../../lib/redis.js';
import { library } from '../../lib/stores/redis/library.js';
import { askServer } from '../support/redis/ask-server.js';
import { hasFunctions } from '../support/redis/lua-calls.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { until } from '../support/redis/until.mjs';
import { VirtualTime } from '../support/virtual-store.js';

const HOUR = 3_600_000;
const OLD = 'nestjs_redis_rate_limit_000000000000';
const UNRELATED = 'nestjs_redis_rate_limit_of_others';

(hasFunctions ? describe : describe.skip)('old libraries', () => {
  let server: RedisServer;
  let store: RedisStore;
  const time = new VirtualTime();

  beforeEach(async () => {
    server = await startRedisServer();
    store = new RedisStore({ redis: server.url, clock: time.clock, timeout: 10_000, connectTimeout: 30_000 });
    for (const name of [OLD, UNRELATED]) {
      const code = `#!lua name=${name}\nredis.register_function('${name}_decide', function() return 1 end)`;
      await askServer(server, 'FUNCTION', 'LOAD', code);
    }
  });

  afterEach(async () => {
    await store.close();
    await server.stop();
  });

  const beat = () => store.heartbeat({ key: 'rl:{instances}', instance: 'a', duration: 15e6 });
  const named = (name: string) => askServer(server, 'ZSCORE', 'rl:{instances}:libraries', name);
  const at = () => String(time.now * 1000);
  const names = async () =>
    ((await askServer(server, 'FUNCTION', 'LIST')) as unknown[][])
      .map((fields) => fields[fields.indexOf('library_name') + 1])
      .sort();

  /** Sends a heartbeat one hour later, which records the library in use. */
  async function hourly(): Promise<void> {
    time.advance(HOUR);
    await beat();
    await until(async () => (await named(library().name)) === at(), 'the library to be named');
  }

  it('a library of another release is deleted a day after a process has named it last', async () => {
    await beat();
    const all = [OLD, library().name, UNRELATED].sort();
    await hourly();
    for (let hour = 0; hour < 5; hour++) await hourly();
    await askServer(server, 'ZADD', 'rl:{instances}:libraries', at(), OLD); // Records a library like the heartbeat of a process that uses it.
    for (let hour = 0; hour < 23; hour++) await hourly();
    expect(await names()).toEqual(all);
    await hourly();
    await until(async () => (await names()).length === 2, 'the old library to be deleted');
    expect(await names()).toEqual([library().name, UNRELATED].sort());
  });

  it('heartbeats continue for a user who may not list libraries', async () => {
    await askServer(server, 'ACL', 'SETUSER', 'default', '-function|list');
    await beat();
    time.advance(HOUR);
    expect(await beat()).toBe(1);
    expect(await named(library().name)).toBeNull();
  });
});
