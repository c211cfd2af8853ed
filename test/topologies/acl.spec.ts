import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { Cluster } from 'ioredis';
import { textOf } from '../readme/code-blocks.js';
import { askServer } from '../support/redis/ask-server.js';
import { startCluster } from '../support/redis/cluster.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { sourceOf, topologyContract, whyRefused } from './topology.js';

/** The user in docs/operations.md, and the additional rights on a cluster. */
const [access = ''] = /## Access\n[^]*?End of access/.exec(textOf('docs/operations.md')) ?? [];
const [, user = ''] = /^(user limiter .*)$/m.exec(access) ?? [];
const [, CLUSTER_RIGHTS = ''] = /On Cluster, add `([^`]+)`/.exec(access) ?? [];

/** Rights for scripts, for connecting, and for changes by other processes. */
const CLIENT_RIGHTS = ['+evalsha', '+eval', '+info', '+ping', '+subscribe', '+unsubscribe'];
const FUNCTION_RIGHTS = ['+fcall', '+function|load', '+function|list', '+function|delete'];

const USER = user.replaceAll('rl:', 't:');
/** Like Redis 6.2. */
const USER_WITHOUT_FUNCTIONS = FUNCTION_RIGHTS.reduce(
  (rights, right) => rights.replace(` ${right}`, ''),
  USER,
);
const credentials = { username: 'limiter', password: 'secret' };

/** The commands, keys and channels that servers have rejected. */
async function refusals(...servers: RedisServer[]): Promise<unknown[]> {
  const logs = await Promise.all(servers.map((server) => askServer(server, 'ACL', 'LOG')));
  const objects = (logs.flat() as unknown[][]).map((fields) => fields[fields.indexOf('object') + 1]);
  return objects.filter((object) => !String(object).startsWith('client|')); // The commands with which ioredis sends its name.
}

topologyContract(
  'a user who may do no more than the limiter needs',
  async () => {
    const server = await startRedisServer({ config: [USER] });
    const { host, port } = server;
    return { redis: { host, port, ...credentials }, server, stop: () => server.stop() };
  },
  (servers) => {
    it("a user with the documented rights passes the contract in the server's time", async () => {
      expect(await whyRefused(servers().redis)).toBeUndefined();
    });

    it('a user with the documented rights is never rejected', async () => {
      expect(await refusals(servers().server)).toEqual([]);
    });

    it('a user with the documented rights is restricted to the prefix', async () => {
      expect(await whyRefused(servers().redis, 'rl:')).toContain('NOPERM');
    });
  },
);

topologyContract('a user who may run scripts only', async () => {
  const server = await startRedisServer({ config: [USER_WITHOUT_FUNCTIONS] });
  const { host, port } = server;
  return { redis: { host, port, ...credentials }, server, stop: () => server.stop() };
});

topologyContract(
  'a user of a cluster who may do no more than the limiter needs',
  async () => {
    const cluster = await startCluster({ replicas: false, config: [`${USER} ${CLUSTER_RIGHTS}`] });
    const mine = new Cluster(cluster.startNodes, { redisOptions: credentials });
    const stop = () => {
      mine.disconnect();
      return cluster.close();
    };
    return { redis: mine, cluster, stop };
  },
  (servers) => {
    it('a user with the documented rights follows a moving slot', async () => {
      const { cluster, redis } = servers();
      const prefix = uniquePrefix();
      const slot = await cluster.slotOf(`${prefix}{ann}`);
      const from = await cluster.ownerOf(slot);
      const mover = await cluster.mover(
        from,
        cluster.nodes.find((node) => node !== from)!,
      );
      await mover.begin(slot);
      expect(await sourceOf(redis, prefix)).toBe('redis');
      await mover.moveKeys(slot);
      await mover.finish(slot);
      mover.close();
    });

    it('a user of a cluster with the documented rights is never rejected', async () => {
      expect(await refusals(...servers().cluster.nodes)).toEqual([]);
    });
  },
);

it('the documented rights are those that the scripts of the store use, and no others', () => {
  const lib = new URL('../../lib/', import.meta.url);
  // docs/live-rules.md has the rights of a source of rules.
  const files = readdirSync(lib, { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.lua') && !name.includes('rule-source'),
  );
  const scripts = files.map((name) => readFileSync(new URL(name, lib), 'utf8')).join('\n');
  const called = scripts.matchAll(/\b(?:redis\.p?call|run)(?:\(|, )(?:\w+ and )?'(\w+)'(?: or '(\w+)')?/g);
  const rights = [...called].flatMap(([, ...commands]) =>
    commands.filter((command) => command !== undefined).map((command) => `+${command.toLowerCase()}`),
  );
  const given = user
    .match(/\+[\w|]+/g)
    ?.filter((right) => ![...CLIENT_RIGHTS, ...FUNCTION_RIGHTS].includes(right));
  expect(given?.sort()).toEqual([...new Set(rights)].sort());
});
