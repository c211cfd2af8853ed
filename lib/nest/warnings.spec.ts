import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { LogLines } from '../../test/support/log-lines.js';
import { WARNINGS, type WarningsOption } from './warning-codes.js';
import { Warnings } from './warnings.js';

let logs: LogLines;
beforeEach(() => Logger.overrideLogger((logs = new LogLines())));
afterEach(() => Logger.overrideLogger(true));

const warningsWith = (warnings?: WarningsOption) => new Warnings({ warnings });

describe('a warning', () => {
  it('is logged once, with its code and the page that describes it', () => {
    const warnings = warningsWith();
    warnings.warn('RL_TRUST_PROXY_ALL', 'Every proxy is trusted.');
    warnings.warn('RL_TRUST_PROXY_ALL', 'Every proxy is still trusted.');
    expect(logs.ours()).toEqual([
      { level: 'warn', message: 'Every proxy is trusted. (RL_TRUST_PROXY_ALL, see docs/warnings.md)' },
    ]);
    expect([...warnings.active]).toEqual([['RL_TRUST_PROXY_ALL', 'Every proxy is trusted.']]);
    expect(warnings.isPending('RL_TRUST_PROXY_ALL')).toBe(false);
    expect(warnings.isPending('RL_LARGE_LOG')).toBe(true);
  });

  it('is logged once for each rule that it is about', () => {
    const warnings = warningsWith();
    for (const rule of ['a', 'b', 'a']) warnings.warn('RL_INVALID_VALUE', `Rule ${rule}.`, rule);
    expect(logs.ours().map(({ message }) => message)).toEqual([
      'Rule a. (RL_INVALID_VALUE, see docs/warnings.md)',
      'Rule b. (RL_INVALID_VALUE, see docs/warnings.md)',
    ]);
    expect([...warnings.active]).toEqual([['RL_INVALID_VALUE', 'Rule b.']]);
    expect(warnings.all).toEqual([
      ['RL_INVALID_VALUE', 'Rule a.'],
      ['RL_INVALID_VALUE', 'Rule b.'],
    ]);
  });

  it.each<WarningsOption>([false, { RL_TRUST_PROXY_ALL: false }])(
    'is neither logged nor active when it is turned off by %j',
    (option) => {
      const warnings = warningsWith(option);
      warnings.warn('RL_TRUST_PROXY_ALL', 'Every proxy is trusted.');
      expect(warnings.isPending('RL_TRUST_PROXY_ALL')).toBe(false);
      expect(logs.lines).toEqual([]);
      expect(warnings.active.size).toBe(0);
    },
  );

  it.each<WarningsOption>([true, {}, { RL_LARGE_LOG: false }, { RL_TRUST_PROXY_ALL: true }])(
    'is logged when only others are turned off: %j',
    (option) => {
      warningsWith(option).warn('RL_TRUST_PROXY_ALL', 'Every proxy is trusted.');
      expect(logs.ours()).toHaveLength(1);
    },
  );
});

describe('the option `warnings`', () => {
  it.each([true, false, {}, { RL_LARGE_LOG: false }, { RL_LARGE_LOG: undefined }])('may be %j', (option) => {
    expect(WARNINGS.accepts(option)).toBe(true);
  });

  it.each([null, 'RL_LARGE_LOG', ['RL_LARGE_LOG'], { RL_LARGE: false }, { RL_LARGE_LOG: 'no' }, 0])(
    'stops the application when it is %j, which would turn nothing off',
    (option) => {
      expect(WARNINGS.accepts(option)).toBe(false);
    },
  );
});
