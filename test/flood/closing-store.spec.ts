import { expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { outsideJest } from '../packaging/run-command.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { PATIENCE_MS } from './scale.js';

const program = fileURLToPath(new URL('closing-store.mjs', import.meta.url));

it(
  'a program that closes limiter and store under load gets every decision and exits',
  async () => {
    const options = { env: outsideJest(), timeout: 30_000, killSignal: 'SIGKILL' } as const;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [program, redisUrl(), uniquePrefix()],
      options,
    );
    expect(JSON.parse(stdout)).toEqual(Array.from({ length: 100 }, () => 'redis'));
  },
  PATIENCE_MS,
);
