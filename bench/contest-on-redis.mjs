// Runs a contest on a separate Redis server.
import { contest } from './contest.mjs';
import { startMeasuredServer } from './measured-server.mjs';

/** Returns the result of `contest`, and the version of Redis. */
export async function contestOnRedis(entries, setting) {
  const server = await startMeasuredServer();
  const rows = await contest(entries, { ...setting, server });
  await server.stop();
  return { rows, redis: server.version };
}
