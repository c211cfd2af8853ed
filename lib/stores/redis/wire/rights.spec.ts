import { describe, expect, it } from '@jest/globals';
import { algorithms, everyAlgorithm } from '../../../algorithms/registry.js';
import { commandsOf, modulesOf } from './script.js';
import rights from '../rights.lua.js';

describe('the commands that a server must permit', () => {
  it('are all commands in the scripts', () => {
    for (const { name, text } of modulesOf(everyAlgorithm)) {
      const calls = text.split(/redis\.call(?:\(|, )/).slice(1);
      const named = calls.filter((call) => /^(?:\w+ and )?'[A-Z]+'(?: or '[A-Z]+')?[,)]/.test(call));
      expect([name, named]).toEqual([name, calls]);
    }
  });

  it('are those of the algorithms in use, and those of every script', () => {
    expect(commandsOf([])).toEqual(['TIME', 'PTTL', 'PEXPIRE', 'GET', 'MGET', 'SET', 'UNLINK']);
    expect(commandsOf([algorithms.gcra])).toEqual(commandsOf([]));
    expect(commandsOf([algorithms['sliding-window-log']])).toEqual(
      expect.arrayContaining(['LTRIM', 'RPUSH']),
    );
    expect(commandsOf([algorithms.concurrency])).toEqual(expect.arrayContaining(['ZADD', 'ZREM']));
  });

  it('are each tried by rights.lua', () => {
    const tried = rights.text.matchAll(/^ *(?:\{ |try\()'([A-Z]+)'/gm);
    expect(Array.from(tried, ([, name]) => name).sort()).toEqual([...commandsOf(everyAlgorithm)].sort());
  });
});
