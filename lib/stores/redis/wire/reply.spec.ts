import { describe, expect, it } from '@jest/globals';
import { failureIn, unpacked } from './reply.js';

describe('the reply of decide.lua', () => {
  it('has the numbers that were packed, to the microsecond', () => {
    const numbers = [1_764_201_600_123_456, 99, -90_000_002, -1, 0, Number.MAX_SAFE_INTEGER];
    const packed = Buffer.alloc(8 * numbers.length);
    for (const [at, number] of numbers.entries()) packed.writeDoubleLE(number, 8 * at);
    expect(unpacked(packed)).toEqual(numbers);
  });

  it('is a list if a request has failed, with the error as a text', () => {
    expect(unpacked([1, Buffer.from('INVALID_STATE'), 0, 0])).toEqual([1, 'INVALID_STATE', 0, 0]);
  });

  it.each([Buffer.from('OK'), null, Buffer.from('nine char')])('is not %p', (reply) => {
    expect(failureIn(unpacked(reply))).toEqual(
      expect.objectContaining({ message: expect.stringMatching(/^something unexpected/) }),
    );
  });
});
