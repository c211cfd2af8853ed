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
/** The most that a key of `maxKeys` takes, as docs/operations.md states. */
const BYTES_PER_KEY = 750;
/** The heap that the code of the first requests takes after it is compiled. */
const NOISE_BYTES = 2 * 1024 * 1024;
/** A full log takes 22 KB, so unbounded logs would take more than twice the allowed memory. */
const SIZE_OF_FULL_LOG = 63;

const program = fileURLToPath(new URL('memory-log-flood.mjs', import.meta.url));

it(
  'full logs of many clients take no more heap than `maxKeys` permits',
  async () => {
    const asked = ['--expose-gc', program, String(CLIENTS), String(MAX_KEYS)];
    const samples = JSON.parse(await runCommand('.', process.execPath, ...asked)) as Sample[];
    const heaps = samples.map(({ heap }) => heap);
    expect(Math.max(...heaps)).toBeLessThan(MAX_KEYS * BYTES_PER_KEY + NOISE_BYTES);
    // No more keys are deleted than necessary.
    expect(samples.at(-1)!.keys).toBeGreaterThanOrEqual(Math.floor(MAX_KEYS / SIZE_OF_FULL_LOG / 1.1));
    tell('memory store, logs', { clients: CLIENTS, keys: samples.at(-1)!.keys, heaps });
  },
  PATIENCE_MS,
);
