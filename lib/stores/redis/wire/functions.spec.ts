import { describe, expect, it } from '@jest/globals';
import { isNotOffered } from './functions.js';

describe('an error reply to FCALL', () => {
  it.each([
    "ERR unknown command 'FCALL', with args beginning with: 'decide'",
    'ERR unknown command `fcall`, with args beginning with: ',
    "NOPERM this user has no permissions to run the 'fcall' command",
    "NOPERM User limiter has no permissions to run the 'fcall' command",
    "ERR unsupported command 'FCALL'",
    'ERR unsupport command',
    'ERR unknown redis command',
    'ERR This Redis command is not allowed',
    'ERR command is disabled in this environment',
  ])('that means that functions are not available: %s', (message) => {
    expect(isNotOffered(message)).toBe(true);
  });

  it.each([
    'ERR Function not found',
    "OOM command not allowed when used memory > 'maxmemory'.",
    'MISCONF Redis is configured to save RDB snapshots, but commands that may modify the data set are disabled',
    'WRONGTYPE Operation against a key holding the wrong kind of value script: f, on user_function:3.',
    "ERR ACL failure in script: User limiter has no permissions to run the 'pttl' command script: f, on user_function:3.",
    'NOAUTH Authentication required.',
    'TRYAGAIN Multiple keys request during rehashing of slot',
    'LOADING Redis is loading the dataset in memory',
  ])('that has another meaning: %s', (message) => {
    expect(isNotOffered(message)).toBe(false);
  });
});
