import { describe, expect, it } from '@jest/globals';
import { algorithms } from '../../../algorithms/registry.js';
import type { Hit } from '../../../contracts/store.js';
import { Call } from './call.js';

const GCRA = { limit: 10, window: 60e6, burst: 10, full: 60e6, fullPart: 0, time: 60e6, overdraft: 0 };

function hit(key: string, more: Partial<Hit> = {}): Hit {
  return { key, algorithm: algorithms.gcra, parameters: GCRA, cost: 1, ...more };
}

/** Returns the arguments of requests, and the keys that they refer to. */
function told(...requests: readonly (readonly Hit[])[]): unknown[] {
  const call = new Call(undefined);
  call.addRequests(requests.map((hits) => ({ hits, options: {} })));
  const [, , args, positions] = call.argv;
  return [
    JSON.parse(args as string),
    positions === undefined ? undefined : JSON.parse(positions as string),
    call.keys,
  ];
}

describe('a call', () => {
  it('encodes consecutive requests that differ only in their keys once', () => {
    expect(told([hit('a')], [hit('b')], [hit('c')])).toEqual([[3, 1, 1, 1], undefined, ['a', 'b', 'c']]);
    expect(told([hit('a')], [hit('b', { cost: 2 })], [hit('c', { cost: 2 })])).toEqual([
      [1, 1, 1, 1, 2, 1, 1, 2],
      undefined,
      ['a', 'b', 'c'],
    ]);
    expect(told([hit('a'), hit('b')], [hit('c'), hit('d')], [hit('e')])).toEqual([
      [2, 2, 1, 1, 1, 1, 1, 1, 1, 1],
      undefined,
      ['a', 'b', 'c', 'd', 'e'],
    ]);
  });

  it('omits the arguments of a single hit of cost 1, which decide.lua supplies', () => {
    const argvOf = (...hits: readonly Hit[]): readonly unknown[] => {
      const call = new Call(undefined);
      call.addRequests([{ hits, options: {} }]);
      return call.argv;
    };
    expect(argvOf(hit('a'))).toEqual(['', '[["gcra",-1,0,[10,60000000,10,60000000,0,60000000,0]]]']);
    expect(argvOf(hit('a', { cost: 2 }))[2]).toBe('[1,1,1,2]');
    expect(argvOf(hit('a', { block: { key: 'a:block', duration: 5 } }))[2]).toBe('[1,1,1,1]');
  });

  it('distinguishes rules by their parameters, not by their names', () => {
    const other = { ...GCRA, limit: 20 };
    expect(told([hit('a')], [hit('b', { parameters: other })], [hit('c')])[0]).toEqual([
      1, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1,
    ]);
    expect(told([hit('a')], [hit('b', { shadow: true })])[0]).toEqual([1, 1, 1, 1, 1, 1, 2, 1]);
  });

  it('distinguishes requests whose denials the process caches, unless they are only reported', () => {
    const call = new Call(undefined);
    call.addRequests([
      { hits: [hit('a')], options: {} },
      { hits: [hit('b'), hit('c', { shadow: true })], options: { cachesDenials: true } },
    ]);
    const rules = JSON.parse(call.argv[1] as string) as unknown[][];
    expect(rules.map(([, , denials]) => denials)).toEqual([0, 2, 1]);
  });

  it('contains the receipt of prefetched permits, and how long to store it', () => {
    const call = new Call(undefined);
    call.addRequests([
      { hits: [hit('a', { cost: 9 })], options: { prefetch: { permits: 9, name: 'x-1', keptFor: 61e6 } } },
      { hits: [hit('a', { cost: 9 })], options: { prefetch: { permits: 9, name: 'x-2', keptFor: 150e6 } } },
    ]);
    expect(call.main).toBe('decide');
    expect(call.keys).toEqual(['a', 'a:take:x-1', 'a:take:x-2']);
    expect(call.argv.slice(2).map((text) => JSON.parse(text as string) as unknown)).toEqual([
      [1, -1, 2, 61e6, 1, 9, 1, -1, 2, 150e6, 1, 9],
      [1, 2, 1, 3],
    ]);
  });

  it('does not combine a peek, or a request that may wait, with other requests', () => {
    const call = new Call(undefined);
    call.addRequests([
      { hits: [hit('a')], options: {} },
      { hits: [hit('b')], options: { dryRun: true } },
      { hits: [hit('c')], options: { maxWait: Infinity } },
      { hits: [hit('d')], options: {} },
    ]);
    expect(JSON.parse(call.argv[2] as string)).toEqual([
      ...[1, 1, 1, 1],
      ...[1, -1, 1, 0, 1, 1],
      ...[1, -1, 0, -1, 1, 1],
      ...[1, 1, 1, 1],
    ]);
  });

  it('contains each key once, and the positions at which it is used', () => {
    expect(told([hit('a')], [hit('a')], [hit('a')])).toEqual([[3, 1, 1, 1], [1, 1, 1], ['a']]);
    expect(told([hit('a')], [hit('b')], [hit('a')], [hit('c')])).toEqual([
      [4, 1, 1, 1],
      [1, 2, 1, 3],
      ['a', 'b', 'c'],
    ]);
  });

  it('is encoded like the worked example in protocol.lua', () => {
    const api = { limit: 100, window: 60e6, burst: 100, full: 60e6, fullPart: 0, time: 60e6, overdraft: 0 };
    const log: Partial<Hit> = {
      algorithm: algorithms['sliding-window-log'],
      parameters: { limit: 5, window: 3600e6 },
      block: { key: 'rl{ann}login:block', duration: 60e6 },
    };
    const call = new Call(undefined);
    call.addRequests([
      { hits: [hit('rl{ann}api', { parameters: api })], options: {} },
      { hits: [hit('rl{bob}api', { parameters: api })], options: {} },
      { hits: [hit('rl{ann}api', { parameters: api }), hit('rl{ann}login', log)], options: { dryRun: true } },
    ]);
    expect([call.keys.join('  '), ...call.argv]).toEqual([
      'rl{ann}api  rl{bob}api  rl{ann}login  rl{ann}login:block',
      '',
      '[["gcra",-1,0,[100,60000000,100,60000000,0,60000000,0]],["sliding-window-log",60000000,0,[5,3600000000]]]',
      '[2,1,1,1,1,-2,1,0,1,1,2,1]',
      '[1,2,1,3,4]',
    ]);
  });
});
