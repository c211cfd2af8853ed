import { execFileSync, spawnSync } from 'node:child_process';
import { lastWill } from './last-will.mjs';
import { answersPing } from './ping.mjs';
import { until } from './until.mjs';

/** Whether the Docker daemon replies. */
export function dockerRuns() {
  return spawnSync('docker', ['info'], { stdio: 'ignore', timeout: 10_000 }).status === 0;
}

/**
 * Starts Redis 7 in a container, with its port mapped to 127.0.0.1.
 *
 * @returns {Promise<{ url: string, stop: () => Promise<void> }>}
 */
export async function startDockerServer() {
  const run = ['run', '--detach', '--rm', '--publish', '127.0.0.1::6379', 'redis:7'];
  const id = docker(...run, 'redis-server', '--save', '', '--appendonly', 'no');
  const revokeWill = lastWill(['docker', 'rm', '--force', id]);
  const [host, port] = docker('port', id, '6379/tcp').split('\n')[0].split(':');
  await until(() => answersPing({ host, port: Number(port) }), 'Redis in Docker to answer PING', 30_000);
  const stop = async () => {
    docker('rm', '--force', id);
    revokeWill();
  };
  return { url: `redis://${host}:${port}`, stop };
}

function docker(...args) {
  return execFileSync('docker', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
}
