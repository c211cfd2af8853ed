import { describe, expect, it } from '@jest/globals';
import { algorithms } from '../../../algorithms/registry.js';
import { decidesSome, failureIn, ReplyReader } from './reply.js';

const REQUEST = { hits: [{ algorithm: algorithms.gcra, alerts: undefined }] };
const NOW = 1_764_201_600_123_456;

describe('the reply of decide.lua', () => {
  it('has the numbers that were packed, to the microsecond', () => {
    const numbers = [NOW, 99, 0, Number.MAX_SAFE_INTEGER];
    const packed = pack(numbers);
    expect(failureIn(packed)).toBeUndefined();
    expect(new ReplyReader(packed, [REQUEST]).next(REQUEST)).toMatchObject([
      { allowed: true, remaining: 99, resetAfter: Number.MAX_SAFE_INTEGER, now: NOW },
    ]);
  });

  it('is a list if a request has failed: the others have their results', () => {
    const list = [NOW, Buffer.from('INVALID_STATE'), 0, 0, 99, 0, 60_000_000];
    expect(failureIn(list)?.message).toBe('INVALID_STATE');
    const reader = new ReplyReader(list, [REQUEST, REQUEST]);
    expect(() => reader.next(REQUEST)).toThrow('INVALID_STATE');
    expect(reader.next(REQUEST)).toMatchObject([{ allowed: true, remaining: 99, resetAfter: 60_000_000 }]);
  });

  it('decides some requests unless each has failed', () => {
    const failed = [Buffer.from('ERR'), 0, 0];
    expect(decidesSome([NOW, ...failed, 99, 0, 60_000_000], [REQUEST, REQUEST])).toBe(true);
    expect(decidesSome([NOW, ...failed, ...failed], [REQUEST, REQUEST])).toBe(false);
    expect(decidesSome([NOW, ...failed], [REQUEST])).toBe(false);
  });

  it('fails a request that a shorter string does not have', () => {
    expect(() => new ReplyReader(Buffer.alloc(8), [REQUEST]).next(REQUEST)).toThrow('too short');
  });

  it.each([
    Buffer.from('OK'),
    null,
    Buffer.from('nine char'),
    Buffer.from('a text of 32 bytes from a proxy.'),
    Buffer.alloc(0),
    Buffer.alloc(32),
    pack([NOW, 99, 0]),
  ])('is not %p', (reply) => {
    expect(failureIn(reply)?.message).toMatch(/^something unexpected/);
    expect(() => new ReplyReader(reply, [REQUEST]).next(REQUEST)).toThrow('too short');
  });

  it.each([
    ['without the wait', [NOW, 99]],
    ['with a list as the wait', [NOW, 99, [], 0]],
    ['with a fraction', pack([NOW, 99, 0.5, 0])],
  ])('fails a request %s', (_title, reply) => {
    expect(() => new ReplyReader(reply, [REQUEST]).next(REQUEST)).toThrow('no integers');
  });
});

function pack(numbers: readonly number[]): Buffer {
  return Buffer.from(Float64Array.from(numbers).buffer);
}
