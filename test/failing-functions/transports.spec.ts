import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { STORES } from '../support/virtual-store.js';

const program = fileURLToPath(new URL('transports.mjs', import.meta.url));
const TRANSPORTS = 14;

describe.each(STORES)('an application whose own functions fail outside HTTP, with %s', (kind) => {
  it('responds to every call, and no error ends its process', async () => {
    const options = {
      prefix: uniquePrefix(),
      ...(kind === 'redis' && { redis: redisUrl(), timeout: 10_000 }),
    };
    const { stdout } = await promisify(execFile)(process.execPath, [program, JSON.stringify(options)], {
      maxBuffer: 2 ** 26,
    });
    const problems = JSON.parse(stdout) as Record<string, string[]>;
    expect(Object.keys(problems)).toHaveLength(TRANSPORTS);
    expect(Object.values(problems).flat()).toEqual([]);
  }, 300_000);
});
