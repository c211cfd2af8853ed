import { describe, expect, it } from '@jest/globals';
import { luaNames } from '../../../test/support/lua-names.js';
import { algorithms } from '../../algorithms/registry.js';
import { calendarWindow } from '../../algorithms/fixed-window/calendar-window.js';
import { warmUp } from '../../algorithms/token-bucket/warm-up.js';
import type { Algorithm } from '../../contracts/algorithm.js';
import { assembleScript, type ScriptMain } from './script.js';

const EVERY: readonly Algorithm[] = [...Object.values(algorithms), calendarWindow, warmUp];

/** What Redis gives to a script, as far as it is used. */
const GIVEN = [
  'ARGV',
  'KEYS',
  'cjson',
  'error',
  'ipairs',
  'math',
  'pcall',
  'redis',
  'select',
  'string',
  'struct',
].concat(['table', 'tonumber', 'tostring', 'type', 'unpack']);

const ALL: [ScriptMain, readonly Algorithm[]][] = [
  ['decide', EVERY],
  ['adjust', EVERY],
  ['block', []],
  ['reset', []],
  ['heartbeat', []],
  ...EVERY.map((algorithm): [ScriptMain, readonly Algorithm[]] => ['lone', [algorithm]]),
];

describe('assembleScript', () => {
  it.each([
    ...ALL,
    ...EVERY.map((algorithm): [ScriptMain, readonly Algorithm[]] => ['decide', [algorithm]]),
    ...EVERY.map((algorithm): [ScriptMain, readonly Algorithm[]] => ['adjust', [algorithm]]),
  ])('reads no name in %s that neither it nor Redis declares, and assigns no global one', (main, some) => {
    const { free, assigned } = luaNames(assembleScript(main, some));
    expect(free.filter((name) => !GIVEN.includes(name))).toEqual([]);
    expect(assigned).toEqual([]);
  });

  it('declares no local that none of the scripts reads', () => {
    const [first = [], ...others] = ALL.map(([main, some]) => luaNames(assembleScript(main, some)).unused);
    expect(first.filter((name) => others.every((names) => names.includes(name)))).toEqual([]);
  });

  it('puts what several algorithms need in front of them once', () => {
    const text = assembleScript('decide', EVERY);
    expect(text.split('local function span_of(')).toHaveLength(2);
    expect(text.indexOf('local function span_of(')).toBeLessThan(text.indexOf('local algorithms'));
  });

  it('leaves out what the algorithms of a call do not need', () => {
    const text = assembleScript('decide', [algorithms['sliding-window-log']]);
    expect(text).not.toContain('span_of');
    expect(text).not.toContain('EPOCH');
  });
});
