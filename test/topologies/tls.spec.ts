import { expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { startRedisServer } from '../support/redis/redis-server.mjs';
import { credentials, refusals, USER } from './documented-user.js';
import { topologyContract, whyRefused } from './topology.js';

topologyContract(
  'a server that speaks TLS, and a user who may do no more than the limiter needs',
  async () => {
    const server = await startRedisServer({ tls: true, config: [USER] });
    const { host, port, ca } = server;
    return { redis: { host, port, tls: { ca }, ...credentials }, server, stop: () => server.stop() };
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

    it("a server is reached through a user's client of a rediss:// URL with its certificate authority", async () => {
      const { url, ca } = servers().server;
      const mine = new Redis(url, { tls: { ca } });
      expect(await whyRefused(mine)).toBeUndefined();
      mine.disconnect();
    });

    it('a server is not trusted without its certificate authority', async () => {
      expect(await whyRefused(servers().server.url)).toContain('self-signed certificate');
    });
  },
);
