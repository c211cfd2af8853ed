import { findOtherBinaries } from '../support/redis/redis-binary.mjs';
import { startRedisServer } from '../support/redis/redis-server.mjs';
import { topologyContract } from './topology.js';

topologyContract('a server with a database and a key prefix for the application', async () => {
  const server = await startRedisServer();
  const { host, port } = server;
  return { redis: { host, port, db: 3, keyPrefix: 'app:' }, stop: () => server.stop() };
});

for (const binary of findOtherBinaries()) {
  topologyContract(`the server ${binary}`, async () => {
    const server = await startRedisServer({ binary });
    return { redis: server.url, stop: () => server.stop() };
  });
}
