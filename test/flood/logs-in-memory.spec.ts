import { expect, it } from '@jest/globals';
import { fileURLToPath } from 'node:url';
import { runCommand } from '../packaging/run-command.js';
import { PATIENCE_MS, scaled, tell } from './scale.js';

interface Sample {
  readonly keys: number;
  readonly heap: number;
}

const CLIENTS = scaled(100_000, 1000);
const MAX_KEYS = scaled(100_000, 10_000);
/** What docs/operations.md says that a key of `maxKeys` takes at most. */
const BYTES_PER_KEY = 750;
/** What the code of the first requests takes, once it is compiled. */
const NOISE_BYTES = 2 * 1024 * 1024;
/** A full log takes 22 KB, so that unbounded ones would be more than twice as much as may be. */
const SIZE_OF_FULL_LOG = 63;

const program = fileURLToPath(new URL('memory-log-flood.mjs', import.meta.url));

it(
  'full logs of many clients take no more heap than `maxKeys` permits',
  async () => {
    const asked = ['--expose-gc', program, String(CLIENTS), String(MAX_KEYS)];
    const samples = JSON.parse(await runCommand('.', process.execPath, ...asked)) as Sample[];
    const heaps = samples.map(({ heap }) => heap);
    expect(Math.max(...heaps)).toBeLessThan(MAX_KEYS * BYTES_PER_KEY + NOISE_BYTES);
    // Nor are more of them forgotten than have to be.
    expect(samples.at(-1)!.keys).toBeGreaterThanOrEqual(Math.floor(MAX_KEYS / SIZE_OF_FULL_LOG / 1.1));
    tell('memory store, logs', { clients: CLIENTS, keys: samples.at(-1)!.keys, heaps });
  },
  PATIENCE_MS,
);
