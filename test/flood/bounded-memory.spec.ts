import { expect, it } from '@jest/globals';
import { fileURLToPath } from 'node:url';
import { runWith } from '../packaging/run-command.js';
import { startRedisServer } from '../support/redis/redis-server.mjs';
import { PATIENCE_MS, scaled, tell } from './scale.js';

interface Sample {
  readonly name: string;
  /** In MB. */
  readonly grown: number;
}

/** More than the entries of the largest cache, of each kind of subject. */
const SUBJECTS = scaled(60_000, 12_000);
const MAX_KEYS = 1000;
const RULES = 25;

/** What docs/reliability.md states, in MB: the caches, `maxKeys` of 1 kB each, and 0.5 MB for each rule on the page. */
const BOUND = 64 + MAX_KEYS / 1000 + RULES / 2;
/** Waiting requests that have ended leave less: 2.4 kB each would be 14 MB, and two equal runs differ by up to 6. */
const LEFT_BY_WAITS = 7;

const program = fileURLToPath(new URL('bounded-memory.mjs', import.meta.url));

async function grownWith(variables: NodeJS.ProcessEnv): Promise<readonly Sample[]> {
  const asked = [program, SUBJECTS, MAX_KEYS, RULES].map(String);
  const lines = await runWith(variables, '.', process.execPath, '--expose-gc', ...asked);
  return lines
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Sample);
}

it.each(['memory', 'Redis'])(
  'whatever clients send, a process with limits in %s keeps no more memory than documented',
  async (store) => {
    const redis = store === 'Redis' ? await startRedisServer() : undefined;
    try {
      const samples = await grownWith(redis ? { REDIS_URL: redis.url } : {});
      tell(`memory that clients fill, ${store}`, samples);
      expect(samples.filter(({ grown }) => grown > BOUND)).toEqual([]);
      samples.forEach(({ name, grown }, index) => {
        if (name.startsWith('waits')) expect(grown - samples[index - 1]!.grown).toBeLessThan(LEFT_BY_WAITS);
      });
    } finally {
      await redis?.stop();
    }
  },
  PATIENCE_MS,
);
