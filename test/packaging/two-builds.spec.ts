import { expect, it } from '@jest/globals';
import { runScript } from '../docs/run-script.js';

// A CommonJS application may import a library that is written as ES modules: then both builds run in one process.
it.each([
  ['esm', 'cjs'],
  ['cjs', 'esm'],
  ['esm', 'esm'],
])(
  'a decorator of the %s build limits a route of an application with the module of the %s build',
  async (decorator, module) => {
    const statuses = JSON.parse(await runScript('test/packaging/two-builds.mjs', decorator, module));
    expect(statuses).toEqual([200, 429]);
  },
  60_000,
);
