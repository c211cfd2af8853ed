import { unpackDebianServer } from './debian-server.mjs';
import { dockerRuns, startDockerServer } from './docker-server.mjs';
import { findRedisBinary } from './redis-binary.mjs';
import { startRedisServer } from './redis-server.mjs';

let shared;

/**
 * Starts the one server that all specs share, unless TEST_REDIS_URL names one, which is used as it is.
 *
 * @returns {Promise<{ url: string, source: string }>} source: where the server comes from
 * @throws when there is no way to a server here, saying how to get one
 */
export async function startSharedServer() {
  shared = await obtainServer();
  return shared;
}

/** Stops the shared server if this process started it. */
export async function stopSharedServer() {
  await shared?.server?.stop();
}

async function obtainServer() {
  if (process.env.TEST_REDIS_URL) return { url: process.env.TEST_REDIS_URL, source: 'TEST_REDIS_URL' };
  if (findRedisBinary()) return startBinary();
  const inDocker = dockerRuns() && (await startDocker());
  if (inDocker) return inDocker;
  return startBinary(unpackServer());
}

function unpackServer() {
  try {
    return unpackDebianServer({ package: 'redis-server', program: 'redis-server' });
  } catch (error) {
    throw new Error(
      `No Redis server for the tests: install redis-server or valkey-server, start Docker, or set REDIS_SERVER_BIN (a program) or TEST_REDIS_URL (a running server). Its package could not be unpacked either: ${error.message}`,
      { cause: error },
    );
  }
}

async function startBinary(binary = findRedisBinary()) {
  process.env.REDIS_SERVER_BIN = binary; // For the workers, which start servers of their own.
  const server = await startRedisServer();
  return { url: server.url, source: binary, server };
}

async function startDocker() {
  try {
    const server = await startDockerServer();
    return { url: server.url, source: 'Docker, redis:7', server };
  } catch (error) {
    console.error(`Docker could not start redis:7: ${error.message.trim()}`);
    return undefined;
  }
}
