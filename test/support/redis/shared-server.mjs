import { unpackDebianServer } from './debian-server.mjs';
import { dockerRuns, startDockerServer } from './docker-server.mjs';
import { findRedisBinary } from './redis-binary.mjs';
import { startRedisServer } from './redis-server.mjs';

let shared;

/**
 * Starts the server that all specs share, unless TEST_REDIS_URL names one, which is then used.
 *
 * @returns {Promise<{ url: string, source: string }>} source: where the server comes from
 * @throws if there is no server, with the ways to get one
 */
export async function startSharedServer() {
  shared = await obtainServer();
  return shared;
}

/** Stops the shared server if this process started it. */
export async function stopSharedServer() {
  await shared?.server?.stop();
}

/** A server program is preferred to Docker, because many specs start their own servers. */
async function obtainServer() {
  const { program, problem } = obtainProgram();
  if (program) process.env.REDIS_SERVER_BIN = program; // For the workers of Jest.
  if (process.env.TEST_REDIS_URL) return { url: process.env.TEST_REDIS_URL, source: 'TEST_REDIS_URL' };
  if (program) return started(await startRedisServer(), program);
  if (dockerRuns()) return started(await startDockerServer(), 'Docker, redis:7');
  throw new Error(
    `No Redis server for the tests: install redis-server or valkey-server, set REDIS_SERVER_BIN to a program, or start Docker. Its package could not be unpacked either: ${problem}`,
  );
}

function obtainProgram() {
  const found = findRedisBinary();
  if (found) return { program: found };
  try {
    return { program: unpackDebianServer({ package: 'redis-server', program: 'redis-server' }) };
  } catch (error) {
    return { problem: error.message };
  }
}

function started(server, source) {
  return { url: server.url, source, server };
}
