import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { Cluster } from 'ioredis';
import { startCluster } from '../support/redis/cluster.js';
import { startRedisServer } from '../support/redis/redis-server.mjs';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import {
  CLIENT_RIGHTS,
  CLUSTER_RIGHTS,
  credentials,
  FUNCTION_RIGHTS,
  refusals,
  USER,
  user,
} from './documented-user.js';
import { sourceOf, topologyContract } from './topology.js';

/** Like Redis 6.2. */
const USER_WITHOUT_FUNCTIONS = FUNCTION_RIGHTS.reduce(
  (rights, right) => rights.replace(` ${right}`, ''),
  USER,
);

it('a user who may run scripts only gets the decisions of Redis', async () => {
  const server = await startRedisServer({ config: [USER_WITHOUT_FUNCTIONS] });
  const { host, port } = server;
  expect(await sourceOf({ host, port, ...credentials }, uniquePrefix())).toBe('redis');
  expect(await refusals(server)).toEqual(['fcall']);
  await server.stop();
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
  const ofCluster = '+cluster'; // Its rights are named below the user.
  const given = user
    .match(/\+[\w|]+/g)
    ?.filter((right) => ![...CLIENT_RIGHTS, ...FUNCTION_RIGHTS].includes(right));
  expect([ofCluster, ...given!].sort()).toEqual([...new Set(rights)].sort());
});
