import { describe, expect, it } from '@jest/globals';
import { fieldsOf, readRule, ruleOf } from './rule-text.js';

describe('a rule of the command line', () => {
  it('has the limit, the window, the algorithm and its options', () => {
    expect(fieldsOf('100/1m', '--rule')).toEqual({ limit: '100', window: '1m' });
    expect(fieldsOf(' 100/1m  token-bucket burst=20 block=5m', '--rule')).toEqual({
      ...{ limit: '100', window: '1m', algorithm: 'token-bucket' },
      ...{ burst: '20', block: '5m' },
    });
    expect(readRule('5/1m burst=20 algorithm=gcra').algorithm.name).toBe('gcra');
    expect(ruleOf(fieldsOf('5/1m gcra overdraft=true', '--rule'))).toMatchObject({ overdraft: true });
    expect(readRule('5/day fixed-window timeZone=Europe/Berlin').parametersAt).toBeDefined();
  });

  it.each([
    ['100', '--rule: got "100": write "100/1m"; allowed: limit/window, then an algorithm and its options'],
    ['100 per minute', '--rule: got "100 per minute"; allowed: limit/window'],
    ['100 / 1m', '--rule: got "100 / 1m"; allowed: limit/window'],
    ['/1m', '--rule: got "/1m"; allowed: limit/window'],
    ['1/2/3', '--rule: got "1/2/3"; allowed: limit/window'],
    ['x/1m', '--rule "x/1m".limit: got "x"; allowed: an integer from 0 to 1000000000'],
    ['100/1x', '--rule "100/1x".window: got "1x"; allowed: an integer with a unit'],
    [
      '100/1m tokenbucket',
      'algorithm: got "tokenbucket": did you mean "token-bucket"?; allowed: "fixed-window"',
    ],
    ['100/1m toString', 'algorithm: got "toString"; allowed: "fixed-window"'],
    ['100/1m gcra brst=3', '.brst: no such option of gcra: did you mean "burst"?; allowed:'],
    ['100/1m gcra burst', 'got "burst"; allowed: option=value'],
    ['100/1m gcra per=instance', '.per: has no effect in a simulation; remove it'],
    ['100/1m gcra alerts=0.8', '.alerts: has no effect in a simulation; remove it'],
    ['100/1m gcra share=true', '--rule "100/1m gcra share=true".share: cannot be simulated; remove it'],
    ['100/1m concurrency', 'algorithm: got "concurrency", which counts requests at the same time'],
    [
      '100/365d sliding-window-cells cells=1000',
      'cells x window is 31536000000000000 microseconds; allowed: at most 2^53 - 1',
    ],
  ])('is rejected with the allowed values: %s', (text, message) => {
    expect(() => readRule(text)).toThrow(message);
  });
});
