import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';

const program = fileURLToPath(new URL('transports.mjs', import.meta.url));
const TRANSPORTS = 14;

// On Redis only: the way in memory is that of failing-functions.spec.ts, and the functions are called alike.
it('an application whose own functions fail outside HTTP responds to every call, and no error ends its process', async () => {
  const options = { prefix: uniquePrefix(), redis: redisUrl(), timeout: 10_000 };
  const { stdout } = await promisify(execFile)(process.execPath, [program, JSON.stringify(options)], {
    maxBuffer: 2 ** 26,
  });
  const problems = JSON.parse(stdout) as Record<string, string[]>;
  expect(Object.keys(problems)).toHaveLength(TRANSPORTS);
  expect(Object.values(problems).flat()).toEqual([]);
}, 300_000);
