import { expect, it } from '@jest/globals';
import { startRedisServer } from '../support/redis/redis-server.mjs';
import { topologyContract, whyRefused } from './topology.js';

topologyContract(
  'a server with a password',
  async () => {
    const server = await startRedisServer({ password: 'p@ss: "word" / 100 %' });
    return { redis: server.url, stop: () => server.stop() };
  },
  (servers) => {
    it.each([
      ['forgotten', '', 'NOAUTH'],
      ['wrong', 'guess', 'WRONGPASS'],
    ])('the log reports that the password is %s', async (_, password, reason) => {
      const url = new URL(servers().redis);
      url.password = password;
      expect(await whyRefused(url.href)).toContain(reason);
    });
  },
);
