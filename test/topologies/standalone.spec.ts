import { expect, it } from '@jest/globals';
import { findOtherBinaries } from '../support/redis/redis-binary.mjs';
import { startRedisServer } from '../support/redis/redis-server.mjs';
import { topologyContract, whyRefused } from './topology.js';

topologyContract(
  'a server with a password, a database and a key prefix for the application',
  async () => {
    const password = 'p@ss: "word" / 100 %';
    const server = await startRedisServer({ password });
    const { host, port, url } = server;
    return { redis: { host, port, password, db: 3, keyPrefix: 'app:' }, url, stop: () => server.stop() };
  },
  (servers) => {
    it('a server is reached by a URL with the password', async () => {
      expect(await whyRefused(servers().url)).toBeUndefined();
    });

    it.each([
      ['forgotten', '', 'NOAUTH'],
      ['wrong', 'guess', 'WRONGPASS'],
    ])('the log reports that the password is %s', async (_, password, reason) => {
      const url = new URL(servers().url);
      url.password = password;
      expect(await whyRefused(url.href)).toContain(reason);
    });
  },
);

for (const binary of findOtherBinaries()) {
  topologyContract(`the server ${binary}`, async () => {
    const server = await startRedisServer({ binary });
    return { redis: server.url, stop: () => server.stop() };
  });
}
