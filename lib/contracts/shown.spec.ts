import { describe, expect, it } from '@jest/globals';
import { RateLimitConfigError } from './rate-limit-config.error.js';
import { RateLimitStoreError } from '../limiter/rate-limit-store.error.js';
import { StoreFault } from './store-fault.js';
import { escaped, messageOf, shown, withoutPassword } from './shown.js';

describe('shown', () => {
  it.each([
    ['60', '"60"'],
    [60, '60'],
    [Number.NaN, 'NaN'],
    [60n, '60n'],
    [null, 'null'],
    [undefined, 'undefined'],
    [() => 's3cret', 'a function'],
    [{ window: '1m', limit: 5 }, '{"window":"1m","limit":5}'],
    [{ token: 's3cret', auth: { pass: 's3cret' } }, '{"token":"***","auth":{"pass":"***"}}'],
    [{ url: 'redis://ann:s3cret@cache' }, '{"url":"redis://***@cache"}'],
    ['x'.repeat(100), `"${'x'.repeat(79)}…`],
  ])('formats a value with passwords masked (%#): %p', (value, text) => {
    expect(shown(value)).toBe(text);
  });

  it('describes a value that JSON cannot represent', () => {
    const circle: { self?: unknown } = {};
    circle.self = circle;
    expect(shown(circle)).toBe('a value that JSON cannot hold');
  });
});

describe('text of a client in logs and errors', () => {
  const HOSTILE = 'ann\u009b2J\u2028\u202egnp.exe\r\n\u{e0041}\ud800é';
  const VISIBLE = 'ann\\u009b2J\\u2028\\u202egnp.exe\\u000d\\u000a\\udb40\\udc41\\ud800é';

  it('is on one line, without characters that a terminal obeys, and JSON reads it as it was', () => {
    expect(escaped(HOSTILE)).toBe(VISIBLE);
    expect(JSON.parse(`"${VISIBLE}"`)).toBe(HOSTILE);
    expect(escaped(VISIBLE)).toBe(VISIBLE);
  });

  it('is escaped in values, configuration errors and errors of the store', () => {
    const unsafe = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
    expect(shown({ [HOSTILE]: HOSTILE })).not.toMatch(unsafe);
    expect(new RateLimitConfigError([HOSTILE, 'b']).message.split('\n  - ')).toEqual([
      'Rate limit configuration is wrong:',
      VISIBLE,
      'b',
    ]);
    expect(new StoreFault('other', 'ERR', HOSTILE).message).toBe(VISIBLE);
    expect(new RateLimitStoreError('change', new Error(HOSTILE)).message).toContain(`(${VISIBLE})`);
  });
});

describe('any value', () => {
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();

  it.each([
    ['a proxy that was revoked', revoked.proxy],
    [
      'an object that throws',
      {
        get limit() {
          throw new Error('x');
        },
      },
    ],
    ['an object without a prototype', Object.create(null) as object],
    ['a list of any length', Array(2 ** 30)],
    ['a long text', { text: 'x'.repeat(1e8) }],
    [
      'an object of many parts',
      Array.from({ length: 79 }, () => Array.from({ length: 79 }, () => 'x@y'.repeat(500))),
    ],
  ])('is shown in at most 81 characters: %s', (_name, value) => {
    expect(shown(value).length).toBeLessThanOrEqual(81);
    expect(shown(messageOf(value)).length).toBeLessThanOrEqual(81);
  });
});

describe('withoutPassword', () => {
  it.each([
    ['redis://cache:6379/0', 'redis://cache:6379/0'],
    ['redis://[::1]:6379', 'redis://[::1]:6379'],
    ['cache:6379', 'cache:6379'],
    ['/run/redis.sock', '/run/redis.sock'],
    ['redis://ann:s3cret@cache:6379', 'redis://***@cache:6379'],
    ['redis://ann:s3/cr@et@cache', 'redis://***@cache'],
    ['redis//:s3cret@cache:6379', '***@cache:6379'],
    ['redis://cache?password=s3cret&db=1', 'redis://cache?password=***&db=1'],
    ['redis://ann:s3cret', 'redis://ann:***'],
    ['redis://:12345', 'redis://:***'],
    ['ann:s3cret', 'ann:***'],
  ])('masks user names and passwords in %s', (text, masked) => {
    expect(withoutPassword(text)).toBe(masked);
  });
});
