import { Controller, Get } from '@nestjs/common';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Cluster } from 'ioredis';
import { RateLimitHealth, RateLimitModule, type Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { askServer } from '../support/redis/ask-server.js';
import { hasFunctions } from '../support/redis/lua-calls.js';
import { startCluster, type RedisCluster } from '../support/redis/cluster.js';
import type { RedisServer } from '../support/redis/redis-server.mjs';
import { closeApps, startApp } from '../support/nest-app.js';
import { subjectsApart } from './places.js';

@Controller()
class Routes {
  @Get() get() {}
}

const LIMIT = { window: '1w', limit: 5, algorithm: 'sliding-window-log' } as const;
const RULE: Rule = { ...LIMIT, name: 'rule' };

describe('a cluster with one node whose user has other rights', () => {
  let cluster: RedisCluster;
  let mine: Cluster;
  let other: RedisServer;
  let subjects: readonly string[];

  beforeAll(async () => {
    cluster = await startCluster({ replicas: false, config: ['user limiter on >s3cret ~* &* +@all'] });
    subjects = await subjectsApart(cluster);
    other = cluster.nodes[1]!;
    const redisOptions = { username: 'limiter', password: 's3cret' };
    mine = new Cluster(cluster.startNodes, { redisOptions });
  });

  afterEach(async () => {
    await closeApps();
    for (const node of cluster.nodes) {
      await askServer(node, 'FLUSHALL');
      await askServer(node, 'ACL', 'SETUSER', 'limiter', '+@all');
      if (hasFunctions) await askServer(node, 'FUNCTION', 'FLUSH');
    }
  });

  afterAll(async () => {
    mine.disconnect();
    await cluster.close();
  });

  /** Starts an application after the user of the other node has lost rights. */
  async function startWithout(...rights: string[]) {
    await askServer(other, 'ACL', 'SETUSER', 'limiter', ...rights.map((right) => `-${right}`));
    const { app, logs } = await startApp(
      {
        imports: [RateLimitModule.forRoot({ redis: mine, rules: { rule: LIMIT }, timeout: 10_000 })],
        controllers: [Routes],
      },
      { framework: 'express' },
    );
    const messages = () => logs.ours();
    const forms = () => logs.forms();
    const health = async () => (await app.get(RateLimitHealth).isHealthy()).rateLimit;
    return { limiter: app.get(RateLimiter), messages, forms, health };
  }

  const addressOf = ({ host, port }: RedisServer) => `${host}:${port}`;

  it.each(['lindex', 'rpush', 'time'])(
    'a right to %s that one node does not grant is reported at start with the address of the node',
    async (right) => {
      const { limiter, messages, health } = await startWithout(right);
      const errors = messages().filter(({ level }) => level === 'error');
      expect(errors).toHaveLength(1);
      expect(errors[0]!.message).toContain(addressOf(other));
      expect(errors[0]!.message).toMatch(/NOPERM/);
      expect(errors[0]!.message).toContain(right.toUpperCase());
      const { degraded, servers } = await health();
      expect(degraded).toBe(true);
      expect(servers.map(({ server }) => server)).toEqual([addressOf(other)]);
      const sources = [];
      for (const subject of subjects) sources.push((await limiter.consume(RULE, subject)).source);
      expect(sources).toEqual(['redis', 'fallback', 'redis']);
    },
  );

  (hasFunctions ? it : it.skip).each(['fcall', 'function|load'])(
    'a node that does not grant %s runs scripts, which the log states, and limits exactly like the others',
    async (right) => {
      const { limiter, forms, messages } = await startWithout(right);
      expect(messages()).toEqual([]);
      const inForm = (form: string) => forms().filter((line) => line.includes(`as ${form}`));
      expect(inForm('functions')).toHaveLength(1);
      expect(inForm('scripts')).toEqual([expect.stringContaining(`scripts on ${addressOf(other)} (NOPERM`)]);
      expect(inForm('scripts')[0]).toContain(`'${right}'`);
      for (const subject of subjects) {
        const decisions = await Promise.all(Array.from({ length: 20 }, () => limiter.consume(RULE, subject)));
        expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(5);
        expect(decisions.map(({ source }) => source)).not.toContain('fallback');
      }
    },
  );
});
