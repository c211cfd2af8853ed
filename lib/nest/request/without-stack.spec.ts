import { describe, expect, it } from '@jest/globals';
import { withoutStack } from './responder.js';

describe('an error without a stack trace', () => {
  it('has its name and message, and no stack frames', () => {
    const { stack } = withoutStack(() => new RangeError('too much'));
    expect(stack).toBe('RangeError: too much');
  });

  it('leaves other errors their stack traces, even if its function throws', () => {
    const fail = () => {
      throw new Error('failed');
    };
    expect(() => withoutStack(fail)).toThrow('failed');
    expect(new Error('another').stack).toContain('without-stack.spec');
  });
});
