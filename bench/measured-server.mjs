// Redis servers for a benchmark, with their CPU time.
import { Cluster, Redis } from 'ioredis';
import { startRedisServer } from '../test/support/redis/redis-server.mjs';
import { AnsweringProcess } from './answering-process.mjs';

const PROXY = new URL('delaying-proxy.mjs', import.meta.url);

/** Starts a Redis server whose CPU time is measured. The caller has to stop it. */
export async function startMeasuredServer() {
  const server = await startRedisServer();
  return measured([server], server.url);
}

/** Starts a Redis server whose clients are a number of milliseconds away, for one request at a time. */
export async function startDistantServer(roundTripMs) {
  const server = await startRedisServer();
  const proxy = new AnsweringProcess(PROXY, [server.port, roundTripMs / 2], { name: 'the slow network' });
  const port = await proxy.answer();
  const distant = await measured([server], `redis://127.0.0.1:${port}`);
  return { ...distant, stop: () => Promise.all([distant.stop(), proxy.stop()]) };
}

/** Returns a client of a server at a URL, or of the Cluster with these nodes. */
export function clientOf(address) {
  return Array.isArray(address) ? new Cluster(address) : new Redis(address);
}

/**
 * Returns servers in the form that benchmarks use: `connect()` creates a client of all of them at their `address`,
 * `cpuMicros()` returns their CPU time so far in microseconds, and `scriptMicros()` the part of it in functions and scripts.
 *
 * @param {import('../test/support/redis/redis-server.mjs').RedisServer[]} servers
 * @param {string | object[]} address see `clientOf`
 */
export async function measured(servers, address) {
  const monitors = servers.map(({ url }) => new Redis(url));
  const [, version] = /redis_version:(\S+)/.exec(await monitors[0].info('server'));
  return {
    version,
    address,
    connect: () => clientOf(address),
    async cpuMicros() {
      const infos = await Promise.all(monitors.map((monitor) => monitor.info('cpu')));
      return infos.map(cpuIn).reduce((sum, micros) => sum + micros);
    },
    async scriptMicros() {
      const infos = await Promise.all(monitors.map((monitor) => monitor.info('commandstats')));
      return infos.map(scriptsIn).reduce((sum, micros) => sum + micros);
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

function scriptsIn(info) {
  const all = [...info.matchAll(/cmdstat_(?:fcall|eval|evalsha):calls=\d+,usec=(\d+)/g)];
  return all.reduce((sum, [, micros]) => sum + Number(micros), 0);
}
