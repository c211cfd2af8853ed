import { describe, expect, it } from '@jest/globals';
import { DeadlineError, isTemporary, wasNotExecuted } from './deadline.js';

describe('an error', () => {
  it.each([
    'Too many Cluster redirections. Last error: ReplyError: MOVED 1 127.0.0.1:1',
    'TRYAGAIN Multiple keys request during rehashing of slot',
    'MOVED 1 127.0.0.1:1',
    "NOPERM User app has no permissions to run the 'fcall' command",
    'NOPERM No permissions to access a key',
    'NOSCRIPT No matching script. Please use EVAL.',
    'LOADING Redis is loading the dataset in memory',
    "OOM command not allowed when used memory > 'maxmemory'.",
    "Stream isn't writeable and enableOfflineQueue options is false",
    "Cluster isn't ready and enableOfflineQueue options is false",
  ])('shows that nothing was executed: %s', (message) => {
    expect(wasNotExecuted(new Error(message))).toBe(true);
  });

  it('does not show whether something was executed if the last attempt got no reply', () => {
    const cause = new DeadlineError(12);
    expect(wasNotExecuted(new Error('TRYAGAIN the keys are on two servers', { cause }))).toBe(false);
  });

  it.each([
    'Connection is closed.',
    'no reply within 50 ms',
    'ERR user_script:1: attempt to index a nil value',
    'read ECONNRESET',
    'NOPERM No permissions to access a key script: rateLimit, on @user_function:1.',
  ])('does not show whether something was executed: %s', (message) => {
    expect(wasNotExecuted(new Error(message))).toBe(false);
  });

  it('of a right that is missing is not temporary, so that another form of the call is tried', () => {
    expect(isTemporary(new Error("NOPERM User app has no permissions to run the 'fcall' command"))).toBe(
      false,
    );
  });
});
