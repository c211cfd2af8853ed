import { expect, it } from '@jest/globals';
import { fileURLToPath } from 'node:url';
import { runCommand } from '../packaging/run-command.js';
import { PATIENCE_MS, scaled, tell } from './scale.js';

interface Sample {
  readonly keys: number;
  readonly heap: number;
}

const CLIENTS = scaled(1_000_000, 300_000);
const MAX_KEYS = 10_000;
/** A leak of eight bytes per client would be more. The cache of keys, which fills and is cleared, takes less. */
const NOISE_BYTES = 8 * 1024 * 1024;

const program = fileURLToPath(new URL('memory-flood.mjs', import.meta.url));

it(
  'a flood of different clients takes no more heap than `maxKeys` permits',
  async () => {
    const asked = ['--expose-gc', program, String(CLIENTS), String(MAX_KEYS)];
    const samples = JSON.parse(await runCommand('.', process.execPath, ...asked)) as Sample[];
    expect(samples.map(({ keys }) => keys)).toEqual(samples.map(() => MAX_KEYS));
    const heaps = samples.map(({ heap }) => heap);
    // The first part fills the store.
    expect(Math.max(...heaps) - heaps[0]!).toBeLessThan(NOISE_BYTES);
    tell('memory store', { clients: CLIENTS, keys: MAX_KEYS, heaps });
  },
  PATIENCE_MS,
);
