// Runs the suites that depend on the Redis version, on Redis 8 and Valkey 8 from Debian's packages: npm run test:servers
import { spawnSync } from 'node:child_process';
import { unpackDebianServer } from '../test/support/redis/debian-server.mjs';

const RELEASE = 'trixie';
const SERVERS = ['redis-server', 'valkey-server'];
const SUITES = ['contract', 'parity', 'cluster', 'sentinel', 'topologies'].map((suite) => `test/${suite}/`);

const failed = SERVERS.filter((name) => {
  const binary = unpackDebianServer({ package: name, program: name, release: RELEASE });
  const jest = ['run', 'jest', '--', ...process.argv.slice(2), ...SUITES];
  const env = { ...process.env, REDIS_SERVER_BIN: binary };
  return spawnSync('npm', jest, { stdio: 'inherit', env }).status !== 0;
});
if (failed.length > 0) {
  console.error(`Failed on: ${failed.join(', ')}.`);
  process.exit(1);
}
