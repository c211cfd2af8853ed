import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { sharedBy } from '../../test/support/shared-by.js';
import { MemoryStore, RateLimitConfigError, type Rule } from '../index.js';
import { RateLimiter } from '../limiter.js';
import type { BlockingRule } from '../rules/rule.js';
import type { SubjectValue } from '../rules/subject.js';
import type { Store } from '../store.js';

const rule: Rule = { algorithm: 'fixed-window', limit: 2, window: '1m' };

describe('an invalid argument of a limiter is rejected:', () => {
  const limiter = new RateLimiter({ store: new MemoryStore() });

  it.each([-1, 0.5, NaN, 1e9 + 1, '1e3'])('a cost of %p', async (cost) => {
    await expect(limiter.consume(rule, 'ann', { cost: cost as number })).rejects.toThrow(
      `cost: got ${typeof cost === 'string' ? `"${cost}"` : cost}; allowed: an integer from 0 to 1000000000`,
    );
  });

  it('two rules with the same name', async () => {
    const twice: Rule[] = [2, 5].map((limit) => ({ ...rule, name: 'mail', limit }));
    await expect(limiter.consume(twice, 'ann')).rejects.toThrow(
      'rules: got ["mail","mail"]; allowed: one rule or more, each of another name',
    );
  });

  it('rules that need more keys than one call can have, including blocks', async () => {
    const many = (count: number, more: object = {}): Rule[] =>
      Array.from({ length: count }, (_, nth) => ({ ...rule, name: `rule-${nth}`, ...more }));
    const message = (keys: number): string => `rules: got ${keys} keys (one for each rule and trial limit`;
    expect((await limiter.consume(many(100), 'ann')).allowed).toBe(true);
    await expect(limiter.consume(many(101), 'ann')).rejects.toThrow(message(101));
    expect((await limiter.consume(many(50, { block: '1m' }), 'bob')).allowed).toBe(true);
    await expect(limiter.consume(many(51, { block: '1m' }), 'bob')).rejects.toThrow(message(102));
    await expect(limiter.consume(many(51, { trial: { limit: 1 } }), 'bob')).rejects.toThrow(message(102));
  });

  it('an empty list of rules, which would allow everything', async () => {
    await expect(limiter.consume([], 'ann')).rejects.toThrow(RateLimitConfigError);
  });

  it.each<unknown>([undefined, null, NaN, {}, [], ['acme', undefined]])(
    'a subject that is not a string, number or list: %p',
    async (subject) => {
      await expect(limiter.consume(rule, subject as SubjectValue)).rejects.toThrow(/subject/);
    },
  );

  it.each(['{', 'a}', 'a b', '\n', 'x'.repeat(65), 'caf\u00e9', 5, null])('a prefix of %j', (prefix) => {
    const store = new MemoryStore();
    expect(() => new RateLimiter({ store, prefix: prefix as string })).toThrow(
      'allowed: 0 to 64 printable ASCII characters without braces and spaces',
    );
  });
});

describe('a limiter whose store fails', () => {
  /** Fails while `broken` is set. */
  class FragileStore extends MemoryStore implements Store {
    broken = true;
    override readonly shared = sharedBy(async () => 1);
    override decide(...asked: Parameters<MemoryStore['decide']>) {
      if (this.broken) throw new Error('out of order');
      return super.decide(...asked);
    }
  }

  it('counts in memory by default', async () => {
    const limiter = new RateLimiter({ store: new FragileStore() });
    const expected = { allowed: true, source: 'fallback', fallback: 'local', remaining: 1, retryAfterMs: 0 };
    expect(await limiter.consume(rule, 'ann')).toMatchObject(expected);
  });

  it("allows every request with 'allow'", async () => {
    const limiter = new RateLimiter({ store: new FragileStore(), onStoreError: 'allow' });
    const expected = { allowed: true, source: 'fallback', fallback: 'allow', remaining: 0, retryAfterMs: 0 };
    expect(await limiter.consume(rule, 'ann')).toMatchObject(expected);
  });

  it("denies every request for a second with 'deny'", async () => {
    const limiter = new RateLimiter({ store: new FragileStore(), onStoreError: 'deny' });
    const expected = { allowed: false, source: 'fallback', remaining: 0, retryAfterMs: 1000 };
    expect(await limiter.consume(rule, 'ann')).toMatchObject(expected);
  });

  it('emits storeError for each failed decision until the listener is removed', async () => {
    const store = new FragileStore();
    const limiter = new RateLimiter({ store });
    const said: string[] = [];
    const off = limiter.events.on('storeError', ({ error }) => said.push(String(error)));
    for (const broken of [true, false, true]) {
      store.broken = broken;
      await limiter.consume(rule, 'ann');
    }
    off();
    store.broken = true;
    await limiter.consume(rule, 'ann');
    expect(said).toEqual(['StoreFault: out of order', 'StoreFault: out of order']);
  });

  it('rejects if the store belongs to one process and has no fallback', async () => {
    class BrokenStore extends MemoryStore {
      override decide(): never {
        throw new Error('a bug');
      }
    }
    await expect(new RateLimiter({ store: new BrokenStore() }).consume(rule, 'ann')).rejects.toThrow('a bug');
  });
});

describe('the code of operations that is not loaded yet', () => {
  const blocking: BlockingRule = { ...rule, block: 'manual' };

  it('keeps the order of the operations that wait for it and of those that come just after', async () => {
    for (let turns = 0; turns < 12; turns += 1) {
      let open = (): void => undefined;
      const opened = new Promise<undefined>((resolve) => (open = () => resolve(undefined)));
      const limiter = new RateLimiter({ store: new MemoryStore() }, () => opened as Promise<never>);
      const blocked = limiter.block(blocking, 'ann', '1h');
      await setImmediate(); // The code is loaded, and its resolver is not.
      open();
      for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
      expect([turns, (await limiter.consume(blocking, 'ann')).allowed]).toEqual([turns, false]);
      await blocked;
    }
  });

  it('is loaded again after a failure', async () => {
    let tries = 0;
    const resolver = async () => {
      tries += 1;
      if (tries === 1) throw new Error('no file descriptor');
      return undefined as never;
    };
    const limiter = new RateLimiter({ store: new MemoryStore() }, resolver);
    const first = [limiter.consume(rule, 'ann'), limiter.consume(rule, 'ann')];
    expect((await Promise.allSettled(first)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await limiter.consume(rule, 'ann')).toMatchObject({ allowed: true, remaining: 1 });
  });
});
