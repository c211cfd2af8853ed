import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { compileRule } from './compile-rule.js';
import { KeyedRule, CacheLimit } from './keyed-rule.js';
import { Keys } from './keys.js';
import type { RuleHit } from './compiled-rule.js';
import type { AnyRule } from './rule.js';
import '../algorithms/registry.js';

const RULE: AnyRule = { algorithm: 'gcra', window: '1m', limit: 10 };

/** Creates a rule that has built hits once, so that it caches the next ones. */
function keyed(rule: AnyRule = RULE): KeyedRule {
  const found = new Keys('rl:', () => 0).keyed(compileRule(rule));
  found.hits('somebody');
  return found;
}

describe('KeyedRule', () => {
  it('returns the cached hits of a subject that it has seen before', () => {
    const rule = keyed();
    const hits = rule.hits('ann');
    expect(hits).toMatchObject([{ subject: 'ann', key: 'rl:{ann}:default:gcra2/60000', cost: 1 }]);
    expect(rule.hits('ann')).toBe(hits);
    expect(rule.hits('bob')).toMatchObject([{ subject: 'bob', key: 'rl:{bob}:default:gcra2/60000' }]);
  });

  it('returns hits with the requested cost', () => {
    const rule = keyed();
    expect(rule.hits('ann', 3)).toMatchObject([{ cost: 3 }]);
    expect(rule.hits('ann')).toMatchObject([{ cost: 1 }]);
    expect(rule.hits('ann', 0)).toMatchObject([{ cost: 0 }]);
  });

  it('returns the cached hits for a cost that is that of the rule, and copies for another', () => {
    const rule = keyed();
    const hits = rule.hits('ann');
    for (const cost of [1, { default: 1 }, { other: 3 }]) expect(rule.hits('ann', cost)).toBe(hits);
    expect(rule.hits('ann', { default: 3 })).toEqual([{ ...hits[0]!, cost: 3 }]);
    expect(rule.hits('ann')).toEqual([expect.objectContaining({ cost: 1 })]);
  });

  it('returns the hit of the rule and that of its trial limit', () => {
    const hits = keyed({ ...RULE, trial: { limit: 5 } }).hits('ann');
    expect(hits.map(({ rule, shadow }) => [rule.name, shadow])).toEqual([
      ['default', false],
      ['default?', true],
    ]);
  });

  it.each<[string, AnyRule]>([
    ['leases, since each has a name', { algorithm: 'concurrency', limit: 2 }],
    [
      'a calendar window, since its parameters change',
      { algorithm: 'fixed-window', window: 'day', limit: 2 },
    ],
  ])('caches no hits of a rule with %s', (_why, rule) => {
    const found = keyed(rule);
    expect(found.hits('ann')).not.toBe(found.hits('ann'));
  });

  it('caches no hits of a list', () => {
    const rule = keyed();
    const subject = ['tenant', 'ann'];
    expect(rule.hits(subject)).not.toBe(rule.hits(subject));
    expect(rule.hits(subject)).toEqual(rule.hits(subject));
  });
});

describe('CacheLimit', () => {
  it('keeps no rule in memory that a live change has replaced', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const keys = new Keys('rl:', () => 0);
    const replaced = Array.from({ length: 100 }, () => {
      const rule = keys.keyed(compileRule(RULE));
      rule.hits('first');
      rule.hits('second');
      return new WeakRef(rule);
    });
    await new Promise((resolve) => setImmediate(resolve));
    collect();
    expect(replaced.filter((rule) => rule.deref()).length).toBeLessThan(10);
  });

  it('limits the cached hits of all rules together, and clears all caches at the limit', () => {
    const cacheLimit = new CacheLimit(3);
    let built = 0;
    const open = () => new KeyedRule((subject) => [{ subject, key: `${++built}` } as RuleHit], cacheLimit);
    const [one, other] = [open(), open()];
    const builtFor = (...subjects: string[]) => {
      const before = built;
      for (const subject of subjects) for (const rule of [one, other]) rule.hits(subject);
      return built - before;
    };
    expect(builtFor('first')).toBe(2); // Not cached: a rule may be created for one request.
    expect(builtFor('ann')).toBe(2);
    expect(builtFor('ann', 'ann')).toBe(0);
    expect(builtFor('bob')).toBe(2); // The fourth subject clears the caches.
    expect(builtFor('ann')).toBe(2);
  });

  it('limits the estimated bytes of the cached hits', () => {
    const hitOf = (subject: string) =>
      ({ subject, key: subject, block: { key: subject, duration: 0 } }) as RuleHit;
    const rule = new KeyedRule((subject) => [hitOf(subject as string)], new CacheLimit(100, 1000));
    for (const subject of ['first', 'ann', 'bob']) rule.hits(subject);
    const hits = rule.hits('ann');
    expect(rule.hits('ann')).toBe(hits);
    rule.hits('c'.repeat(64)); // Together with the others, more than 1,000 bytes.
    expect(rule.hits('ann')).not.toBe(hits);
  });
});
