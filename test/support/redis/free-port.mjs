import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * Returns a port that is free on 127.0.0.1, with a free cluster bus port 10,000 above it. It is below 32768, where
 * systems start to assign ports to outgoing connections: one of those could take the port of a stopped server, and a
 * client that reconnects could even connect to itself.
 *
 * @returns {Promise<number>}
 */
export async function freePort() {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = randomInt(15_000, 22_768);
    if ((await canListen(port)) && (await canListen(port + 10_000))) return port;
  }
  throw new Error('Found no free port between 15000 and 22767 in 100 attempts');
}

function canListen(port) {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
