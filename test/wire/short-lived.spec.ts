import { expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startRedisServer } from '../support/redis/redis-server.mjs';

const LOAD = fileURLToPath(new URL('short-lived-load.mjs', import.meta.url));
const FLAGS = ['--expose-gc', '--disable-warning=ExperimentalWarning'];

/** Seen: 5; with a literal for what waits 530, see docs/adr/0111-no-literals-for-what-waits.md. */
const MOST_BYTES = 100;

it('a decision on Redis leaves nothing that outlives a collection of young objects', async () => {
  const server = await startRedisServer();
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [...FLAGS, LOAD, String(server.port)]);
    expect((JSON.parse(stdout) as { bytes: number }).bytes).toBeLessThan(MOST_BYTES);
  } finally {
    await server.stop();
  }
});
