import { existsSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { pathOf, textOf } from '../readme/code-blocks.js';
import { tableOf } from '../readme/tables.js';
import { redisUrl } from '../support/redis/shared-redis.js';
import { runScript } from './run-script.js';

const PAGE = 'docs/lifecycle.md';
const FIRST_IN_STORE = 'lib/stores/memory/memory.store.ts';
const FIRST_BEHIND_STORE = 'lib/limiter/decision.ts';

const inMemory = tableOf(PAGE, 'file').map(({ file }) => file!);
const onRedis = tableOf(PAGE, 'file on Redis').map((row) => row['file on Redis']!);

interface Trace {
  readonly files: readonly string[];
  readonly returns: number;
}

async function trace(...flags: string[]): Promise<Trace> {
  return JSON.parse(await runScript('scripts/trace-request.mjs', '--json', ...flags)) as Trace;
}

describe(PAGE, () => {
  it('names the files of a request in memory in their order, and the request returns to at most four', async () => {
    const { files, returns } = await trace();
    expect(inMemory).toEqual(files);
    expect(returns).toBeLessThanOrEqual(4);
  });

  it('names the files of a request on Redis in their order, and the request returns to at most seven', async () => {
    const { files, returns } = await trace(`--redis=${redisUrl()}`);
    const before = inMemory.slice(0, inMemory.indexOf(FIRST_IN_STORE));
    const behind = inMemory.slice(inMemory.indexOf(FIRST_BEHIND_STORE));
    expect([...before, ...onRedis, ...behind]).toEqual(files);
    expect(returns).toBeLessThanOrEqual(7);
  });

  it('names only files that exist', () => {
    const files = Array.from(textOf(PAGE).matchAll(/lib\/[\w./-]+\.(?:ts|lua)/g), ([file]) => file);
    expect(files.filter((file) => !existsSync(pathOf(file)))).toEqual([]);
  });
});
