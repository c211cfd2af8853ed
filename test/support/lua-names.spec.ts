import { describe, expect, it } from '@jest/globals';
import { luaNames } from './lua-names.js';

describe('luaNames', () => {
  it.each([
    ['a name without a local', 'return now + 1', ['now']],
    ['a local of a block that has ended', 'do local a = 1 return a end return a', ['a']],
    [
      'a local that is declared further below',
      'local function f() return g() end local function g() return f() end return g()',
      ['g'],
    ],
    ['a local in its own value', 'local a = a return a', ['a']],
    ['the base of a field, and no field', 'return math.floor', ['math']],
    ['a value in a table, and no key', 'return { key = value }', ['value']],
  ])('luaNames finds a free name: %s', (_, text, free) => {
    expect(luaNames(text)).toEqual({ free, assigned: [], unused: [] });
  });

  it.each([
    ['a value', 'total = 1'],
    ['a function', 'function total() end'],
    ['a value in a function', 'local function f() total = 1 end return f()'],
  ])('luaNames finds an assigned global: %s', (_, text) => {
    expect(luaNames(text)).toEqual({ free: [], assigned: ['total'], unused: [] });
  });

  it.each([
    ['one that is only assigned', 'local a = 1 a = 2'],
    ['one in a function', 'return function() local a = 1 end'],
    ['a function', 'local function a() end'],
    ['one of several values', 'local a, b = 1, 2 return b'],
    ['one that another of its name hides', 'local a = 1 return function(a) return a end'],
  ])('luaNames finds an unused local: %s', (_, text) => {
    expect(luaNames(text)).toEqual({ free: [], assigned: [], unused: ['a'] });
  });

  it('luaNames finds nothing if every name has a local that is read', () => {
    const text = `
      local sum, _ = 0, 0
      local function add(n, unread) sum = sum + n end
      for i = 1, 3 do add(i) end
      for _, v in next, { 1 } do add(v) end
      repeat local done = true until done
      while sum < 0 do local more = 1 add(more) end
      if sum > 1 then return sum elseif sum > 0 then local one = sum return one else return -sum end`;
    expect(luaNames(text)).toEqual({ free: ['next'], assigned: [], unused: [] });
  });
});
