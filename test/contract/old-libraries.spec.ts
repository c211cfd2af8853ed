import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { RedisStore } from '../../lib/redis.js';
import { library } from '../../lib/stores/redis/wire/library.js';
import { askServer, openAdmin } from '../support/redis/ask-server.js';
import { hasFunctions } from '../support/redis/lua-calls.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { until } from '../support/redis/until.mjs';
import { VirtualTime } from '../support/virtual-store.js';

const HOUR = 3_600_000;
const OURS = library().name;
const OTHER = 'nestjs_redis_rate_limit_000000000000';
const UNRELATED = 'nestjs_redis_rate_limit_of_others';

(hasFunctions ? describe : describe.skip)('libraries of several releases on one server', () => {
  let server: RedisServer;
  let store: RedisStore;
  let admin: Redis;
  let time: VirtualTime;

  beforeEach(async () => {
    time = new VirtualTime();
    server = await startRedisServer();
    admin = openAdmin(server);
    store = new RedisStore({ redis: server.url, clock: time.clock, timeout: 10_000, connectTimeout: 30_000 });
    await load(library().text.replaceAll(OURS, OTHER));
    await load(`#!lua name=${UNRELATED}\nredis.register_function('unrelated', function() return 1 end)`);
  });

  afterEach(async () => {
    await store.close();
    admin.disconnect();
    await server.stop();
  });

  const load = (text: string) => admin.call('FUNCTION', 'LOAD', text);
  const beat = () => store.heartbeat({ key: 'rl:{instances}', instance: 'a', duration: 15e6 });
  /** The heartbeat of a process with another prefix and another release. */
  const beatOfOther = () => {
    const key = 'other:{instances}';
    return admin.call(
      'FCALL',
      `${OTHER}_heartbeat`,
      1,
      key,
      time.now * 1000,
      '[]',
      '["b",15000000,3600000000]',
    );
  };
  const inquiries = async () => {
    const stats = await admin.info('commandstats');
    return Number(/cmdstat_function\|list:calls=(\d+)/.exec(stats)?.[1] ?? 0);
  };
  const names = async () =>
    ((await admin.call('FUNCTION', 'LIST')) as unknown[][])
      .map((fields) => fields[fields.indexOf('library_name') + 1])
      .sort();

  /** A heartbeat an hour later, with which the process looks for libraries that no process uses. */
  async function hourly(): Promise<void> {
    time.advance(HOUR);
    const before = await inquiries();
    await beat();
    await until(async () => (await inquiries()) > before, 'the process to look for old libraries');
    await beat(); // Its reply comes after those of the look.
  }

  it('a library that processes of another prefix use is never deleted, and a day after their last call it is', async () => {
    await beat();
    const all = [OTHER, OURS, UNRELATED].sort();
    for (let hour = 0; hour < 60; hour++) {
      await beatOfOther();
      await hourly();
    }
    expect(await names()).toEqual(all);
    for (let hour = 0; hour < 23; hour++) await hourly();
    expect(await names()).toEqual(all);
    await hourly();
    await until(async () => (await names()).length === 2, 'the library to be deleted');
    expect(await names()).toEqual([OURS, UNRELATED].sort());
  });

  it('a library is kept for a day after the server has started again, which forgets when it was last called', async () => {
    await beat();
    for (let hour = 0; hour < 20; hour++) await hourly();
    const dump = await admin.callBuffer('FUNCTION', 'DUMP');
    await admin.call('FUNCTION', 'RESTORE', dump as Buffer, 'REPLACE'); // As from the data of the server.
    for (let hour = 0; hour < 24; hour++) await hourly();
    expect(await names()).toContain(OTHER);
    await hourly();
    await until(async () => !(await names()).includes(OTHER), 'the library to be deleted');
  });

  it('heartbeats continue for a user who may not list libraries, and nothing is deleted', async () => {
    await askServer(server, 'ACL', 'SETUSER', 'default', '-function|list');
    await beat();
    for (let hour = 0; hour < 30; hour++) {
      time.advance(HOUR);
      expect(await beat()).toBe(1);
    }
    await askServer(server, 'ACL', 'SETUSER', 'default', '+function|list');
    expect(await names()).toContain(OTHER);
  });
});
