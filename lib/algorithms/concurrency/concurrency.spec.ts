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

describe.each([
  ['a minute', 60e6],
  ['ten hours', 36_000e6],
  ['a year', 31_536_000e6],
])('concurrency, 3 permits with leases of 30 s, when the clock is set back by %s', (_length, by) => {
  const referenceOf = () => new Reference(concurrency, { limit: 3, window: 0 });
  const NOON = Date.UTC(2024, 0, 1, 12) * 1000;

  it('a clock that is set back keeps the leases as long as they were, and reports true waits', () => {
    const reference = referenceOf();
    reference.hit(NOON, 2);
    reference.hit(NOON + 10e6, 1);
    const now = NOON + 15e6 - by;
    expect(reference.hit(now, 2)).toMatchObject({ allowed: false, retryAfter: 20e6, resetAfter: 30e6 });
    expect(reference.hit(now + 20e6 - 1, 2)).toMatchObject({ allowed: false, retryAfter: 1 });
    expect(reference.hit(now + 20e6, 2)).toMatchObject({ allowed: true, remaining: 0 });
    expect(reference.peek(now + 30e6, 1)).toMatchObject({ allowed: true });
  });

  it('a clock that is set back frees no permit, and none is lost: they are renewed and released', () => {
    const reference = referenceOf();
    const { lease } = reference;
    reference.hit(NOON, 3);
    const now = NOON + 10e6 - by;
    expect(reference.renew(now, lease)).toBe(true);
    expect(reference.peek(now + 29e6, 1)).toMatchObject({ allowed: false, retryAfter: 1e6 });
    expect(reference.renew(now + 29e6, lease)).toBe(true);
    expect(reference.renew(now + 29e6 - by, lease)).toBe(true);
    expect(reference.peek(now + 29e6 - by, 1)).toMatchObject({ allowed: false, retryAfter: 30e6 });
    expect(reference.refund(now + 30e6 - by, 3, lease)).toBe(true);
    expect(reference.peek(now + 30e6 - by, 3)).toMatchObject({ allowed: true, resetAfter: 30e6 });
  });

  it('a clock that is set forward and back allows at most the limit once more', () => {
    const reference = referenceOf();
    reference.hit(NOON, 3);
    expect(reference.hit(NOON + by, 3)).toMatchObject({ allowed: true });
    for (const after of [0, 10e6, 30e6 - 1]) expect(reference.hit(NOON + after, 1).allowed).toBe(false);
    expect(reference.hit(NOON + 30e6, 3)).toMatchObject({ allowed: true });
  });

  it('requests that wait keep their order and their leases', () => {
    const reference = referenceOf();
    const { lease } = reference;
    reference.hit(NOON, 3);
    const first = reference.lease;
    expect(reference.hit(NOON, 2, 1)).toMatchObject({ allowed: true, delay: 30e6 });
    reference.hit(NOON + 1e6, 1, 1);
    const now = NOON + 2e6 - by;
    expect(reference.renew(now, lease)).toBe(true);
    expect(reference.peek(now + 28e6, 1)).toMatchObject({ allowed: false });
    expect(reference.refund(now + 28e6, 3, lease)).toBe(true);
    expect(reference.state!.granted).toEqual([first, 'lease-2']);
  });
});

describe('concurrency, when the clock steps back by at most a second', () => {
  it('a small step of the clock ends no lease early, and delays its end by as much', () => {
    const reference = new Reference(concurrency, { limit: 1, window: 0 });
    const { lease } = reference;
    reference.hit(10e6, 1);
    expect(reference.peek(9e6, 1)).toMatchObject({ allowed: false, retryAfter: 31e6 });
    expect(reference.renew(9e6, lease)).toBe(true);
    expect(reference.peek(9e6, 1)).toMatchObject({ allowed: false, retryAfter: 30e6 });
    expect(reference.peek(39e6, 1)).toMatchObject({ allowed: true });
  });
});

describe('concurrency, when the rule changes', () => {
  const ruleOf = (limit: number, lease: `${number}s` = '30s') => ({ limit, window: 0, lease });

  it('a changed limit reads the held permits as they are: halved, doubled, 0 and back', () => {
    const reference = new Reference(concurrency, ruleOf(4));
    reference.hit(0, 3);
    reference.change(ruleOf(2));
    expect(reference.hit(1e6, 1)).toMatchObject({ allowed: false, remaining: 0, retryAfter: 29e6 });
    reference.change(ruleOf(8));
    expect(reference.peek(1e6, 5)).toMatchObject({ allowed: true, remaining: 0 });
    expect(reference.peek(1e6, 6)).toMatchObject({ allowed: false, remaining: 5 });
    reference.change(ruleOf(0));
    expect(reference.hit(1e6, 1)).toMatchObject({ allowed: false, retryAfter: null, resetAfter: 0 });
    reference.change(ruleOf(4));
    expect(reference.hit(1e6, 1)).toMatchObject({ allowed: true, remaining: 0 });
  });

  it('a changed lease applies to permits that are taken or renewed, and shortens no other', () => {
    const reference = new Reference(concurrency, ruleOf(1));
    const { lease } = reference;
    reference.hit(0, 1);
    reference.change(ruleOf(1, '2s'));
    expect(reference.hit(10e6, 1)).toMatchObject({ allowed: false, retryAfter: 20e6 });
    expect(reference.renew(10e6, lease)).toBe(true);
    expect(reference.hit(12e6 - 1, 1)).toMatchObject({ allowed: false, retryAfter: 1 });
    expect(reference.hit(12e6, 1)).toMatchObject({ allowed: true });
  });
});
