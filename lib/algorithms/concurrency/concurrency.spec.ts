import { describe, expect, it } from '@jest/globals';
import { Reference } from '../../../test/support/reference.js';
import { concurrency } from './concurrency.js';

type State = Parameters<typeof concurrency.step>[0];

describe('concurrency, 3 permits with leases of 30 s', () => {
  const referenceOf = () => new Reference(concurrency, { limit: 3, window: 0 });

  it('returns the permits of a lease together when it ends', () => {
    const reference = referenceOf();
    expect(reference.hit(0, 2)).toMatchObject({ allowed: true, remaining: 1, resetAfter: 30e6 });
    expect(reference.hit(10e6, 1)).toMatchObject({ allowed: true, remaining: 0, resetAfter: 30e6 });
    const denied = { allowed: false, remaining: 0, retryAfter: 20e6, resetAfter: 30e6 };
    expect(reference.hit(10e6, 2)).toMatchObject(denied);
    expect(reference.hit(10e6, 3)).toMatchObject({ ...denied, retryAfter: 30e6 });
    expect(reference.hit(10e6, 4)).toMatchObject({ ...denied, retryAfter: null });
    expect(reference.hit(30e6 - 1, 1)).toMatchObject({ allowed: false, retryAfter: 1 });
    expect(reference.hit(30e6, 2)).toMatchObject({ allowed: true, remaining: 0 });
  });

  it('returns the permits of a lease at its release', () => {
    const reference = referenceOf();
    const { lease } = reference;
    reference.hit(0, 2);
    expect(reference.refund(1e6, 2, lease)).toBe(true);
    expect(reference.peek(1e6, 0)).toMatchObject({ remaining: 3, resetAfter: 0 });
    expect(reference.refund(1e6, 2, lease)).toBe(false);
  });

  it('extends a lease at each renewal, and never one that has ended', () => {
    const reference = referenceOf();
    const { lease } = reference;
    reference.hit(0, 3);
    expect(reference.renew(29e6, lease)).toBe(true);
    expect(reference.peek(30e6, 1)).toMatchObject({ allowed: false, retryAfter: 29e6 });
    expect(reference.renew(59e6, lease)).toBe(false);
    expect(reference.peek(59e6, 3)).toMatchObject({ allowed: true });
  });
});

it('expired waiting requests do not delay later requests, whether or not they are still stored', () => {
  const parameters = { limit: 1, lease: 30e6, queue: 5 };
  const ask = (state: State, now: number, name: string, patience = 0) => {
    const step = concurrency.step(state, now, 1, parameters, patience, name);
    if (!step.allowed) throw new Error('denied');
    return step;
  };
  let { state } = ask(undefined, 0, 'holder');
  for (const name of ['a', 'b', 'c']) state = ask(state, 0, name, 1).state;
  const delays = [state, undefined].map((before) => {
    const held = ask(before, 60e6, 'next holder').state;
    return ask(held, 60e6, 'next to wait', 1).delay;
  });
  expect(delays).toEqual([30e6, 30e6]);
});
