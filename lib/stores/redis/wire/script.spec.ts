import { describe, expect, it } from '@jest/globals';
import { luaNames } from '../../../../test/support/lua-names.js';
import { algorithms, everyAlgorithm } from '../../../algorithms/registry.js';
import type { Algorithm } from '../../../contracts/algorithm.js';
import { library, WHEN_FULL } from './library.js';
import { assembleScript, EVERY_MAIN, type ScriptName } from './script.js';

/** The global names of Redis that the Lua uses. */
const GIVEN = [
  'ARGV',
  'KEYS',
  'cjson',
  'error',
  'ipairs',
  'math',
  'pcall',
  'redis',
  'setmetatable',
  'select',
  'string',
  'struct',
].concat(['table', 'tonumber', 'tostring', 'type', 'unpack']);

const ALL = EVERY_MAIN.map((main): [ScriptName, readonly Algorithm[]] => [main, everyAlgorithm]);

describe('a script', () => {
  it.each([
    ...ALL,
    ...everyAlgorithm.map((algorithm): [ScriptName, readonly Algorithm[]] => ['decide', [algorithm]]),
    ...everyAlgorithm.map((algorithm): [ScriptName, readonly Algorithm[]] => ['adjust', [algorithm]]),
  ])(
    'a script for %s reads only names that it or Redis declares, and assigns no global name',
    (main, some) => {
      const { free, assigned } = luaNames(assembleScript(main, some));
      expect(free.filter((name) => !GIVEN.includes(name))).toEqual([]);
      expect(assigned).toEqual([]);
    },
  );

  it('a script contains files once that several algorithms need', () => {
    const text = assembleScript('decide', everyAlgorithm);
    expect(text.split('local function span_of(')).toHaveLength(2);
    expect(text.indexOf('local function span_of(')).toBeLessThan(text.indexOf('local algorithms'));
  });

  it('a script leaves out files that its algorithms do not need', () => {
    const text = assembleScript('decide', [algorithms['sliding-window-log']]);
    expect(text).not.toContain('span_of');
    expect(text).not.toContain('EPOCH');
  });
});

describe('the library of functions', () => {
  const { name, text, functions } = library();
  const { free, assigned, unused } = luaNames(text.slice(text.indexOf('\n')));

  it('the library reads only names that it or Redis declares, and assigns no global name', () => {
    expect(free.filter((each) => !GIVEN.includes(each))).toEqual([]);
    expect(assigned).toEqual([]);
  });

  it('the library declares no unused local name', () => {
    expect(unused).toEqual([]);
  });

  it('the library registers each function twice, once with allow-oom', () => {
    const registered = Array.from(text.matchAll(/function_name = '(\w+)', flags = \{ (.*?) \}/g), (match) => [
      match[1],
      match[2],
    ]);
    const flagsOf = (main: string) => (main === 'across' ? "'allow-cross-slot-keys'" : '');
    expect(registered).toEqual([
      [`${name}_idle`, "'no-writes'"],
      ...EVERY_MAIN.flatMap((main) => [
        [functions[main], flagsOf(main)],
        [functions[main] + WHEN_FULL, ["'allow-oom'", flagsOf(main)].filter(Boolean).join(', ')],
      ]),
    ]);
    expect(registered.every(([each]) => each!.startsWith(`${name}_`))).toBe(true);
  });
});
