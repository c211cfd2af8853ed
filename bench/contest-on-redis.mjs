// A contest on a Redis server of its own.
import { contest } from './contest.mjs';
import { startMeasuredServer } from './measured-server.mjs';

/** What `contest` gives, and the version of Redis. */
export async function contestOnRedis(entries, setting) {
  const server = await startMeasuredServer();
  const rows = await contest(entries, { ...setting, server });
  await server.stop();
  return { rows, redis: server.version };
}
