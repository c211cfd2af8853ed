import { describe, expect, it } from '@jest/globals';
import { withoutStack } from './without-stack.js';

describe('an error that is made without a stack', () => {
  it('says what it is, and nothing of where', () => {
    const { stack } = withoutStack(() => new RangeError('too much'));
    expect(stack).toBe('RangeError: too much');
  });

  it('leaves other errors their stacks, even when it could not be made', () => {
    const fail = () => {
      throw new Error('failed');
    };
    expect(() => withoutStack(fail)).toThrow('failed');
    expect(new Error('another').stack).toContain('without-stack.spec');
  });
});
