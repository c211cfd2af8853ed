// Redis servers of a bench's own, which tell what CPU time they have taken.
import { Redis } from 'ioredis';
import { startRedisServer } from '../test/support/redis/redis-server.mjs';

/** Starts a Redis server to be measured; stop it in the end. */
export async function startMeasuredServer() {
  const server = await startRedisServer();
  return measured([server], () => new Redis(server.url));
}

/**
 * Servers as benches take them: `connect()` makes a client of them all, `cpuMicros()` tells the microseconds of
 * CPU that they have taken so far; `url` is that of the first.
 *
 * @param {import('../test/support/redis/redis-server.mjs').RedisServer[]} servers
 * @param {() => object} connect
 */
export async function measured(servers, connect) {
  const monitors = servers.map(({ url }) => new Redis(url));
  const [, version] = /redis_version:(\S+)/.exec(await monitors[0].info('server'));
  return {
    version,
    url: servers[0].url,
    connect,
    async cpuMicros() {
      const infos = await Promise.all(monitors.map((monitor) => monitor.info('cpu')));
      return infos.map(cpuIn).reduce((sum, micros) => sum + micros);
    },
    async stop() {
      for (const monitor of monitors) monitor.disconnect();
      await Promise.all(servers.map((server) => server.stop()));
    },
  };
}

function cpuIn(info) {
  const seconds = (name) => Number(new RegExp(`used_cpu_${name}:(\\S+)`).exec(info)[1]);
  return (seconds('user') + seconds('sys')) * 1e6;
}
