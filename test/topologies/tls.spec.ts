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
    it("a server is reached through a user's client of a rediss:// URL with its certificate authority", async () => {
      const { url, ca } = servers();
      const mine = new Redis(url, { tls: { ca } });
      expect(await whyRefused(mine)).toBeUndefined();
      mine.disconnect();
    });

    it('a server is not trusted without its certificate authority', async () => {
      expect(await whyRefused(servers().url)).toContain('self-signed certificate');
    });
  },
);
