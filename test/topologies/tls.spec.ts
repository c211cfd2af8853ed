import { expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { startRedisServer } from '../support/redis/redis-server.mjs';
import { topologyContract, whyRefused } from './topology.js';

topologyContract(
  'a server that speaks TLS, with the ioredis options for it',
  async () => {
    const server = await startRedisServer({ tls: true });
    const { host, port, url, ca } = server;
    return { redis: { host, port, tls: { ca } }, url, ca, stop: () => server.stop() };
  },
  (servers) => {
    it("is reached through a user's client of a rediss:// URL, whose authority it trusts", async () => {
      const { url, ca } = servers();
      const mine = new Redis(url, { tls: { ca } });
      expect(await whyRefused(mine)).toBeUndefined();
      mine.disconnect();
    });

    it('is not trusted without the authority', async () => {
      expect(await whyRefused(servers().url)).toContain('self-signed certificate');
    });
  },
);
