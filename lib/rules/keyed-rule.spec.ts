import { describe, expect, it } from '@jest/globals';
import { compileRule } from './compile-rule.js';
import { KeyedRule, Recollection } from './keyed-rule.js';
import { Keys } from './keys.js';
import type { RuleHit } from './rule-hit.js';
import type { AnyRule } from './rule.js';

const RULE: AnyRule = { algorithm: 'gcra', window: '1m', limit: 10 };

/** A rule that has been asked once, and so is not one that was made for a single request. */
function keyed(rule: AnyRule = RULE): KeyedRule {
  const found = new Keys('rl:', () => 0).keyed(compileRule(rule));
  found.hits('somebody');
  return found;
}

describe('the hits of a subject on a rule', () => {
  it('are spelled once, for whoever comes again', () => {
    const rule = keyed();
    const hits = rule.hits('ann');
    expect(hits).toMatchObject([{ subject: 'ann', key: 'rl:{ann}:default:gcra', cost: 1 }]);
    expect(rule.hits('ann')).toBe(hits);
    expect(rule.hits('bob')).toMatchObject([{ subject: 'bob', key: 'rl:{bob}:default:gcra' }]);
  });

  it('have the cost that is asked for', () => {
    const rule = keyed();
    expect(rule.hits('ann', 3)).toMatchObject([{ cost: 3 }]);
    expect(rule.hits('ann')).toMatchObject([{ cost: 1 }]);
    expect(rule.hits('ann', 0)).toMatchObject([{ cost: 0 }]);
  });

  it('are that of the rule, and that of its trial', () => {
    const hits = keyed({ ...RULE, trial: { limit: 5 } }).hits('ann');
    expect(hits.map(({ rule, shadow }) => [rule.name, shadow])).toEqual([
      ['default', false],
      ['default?', true],
    ]);
  });

  it.each<[string, AnyRule]>([
    ['leases, each of which has a name', { algorithm: 'concurrency', limit: 2 }],
    ['a calendar, whose windows differ', { algorithm: 'fixed-window', window: 'day', limit: 2 }],
  ])('are new ones each time by a rule of %s', (_why, rule) => {
    const found = keyed(rule);
    expect(found.hits('ann')).not.toBe(found.hits('ann'));
  });

  it.each([['x'.repeat(65)], [['tenant', 'ann']]])(
    'are not remembered for a subject that is long or a list',
    (subject) => {
      const rule = keyed();
      expect(rule.hits(subject)).not.toBe(rule.hits(subject));
      expect(rule.hits(subject)).toEqual(rule.hits(subject));
    },
  );
});

describe('what rules remember', () => {
  it('is bounded for all of them together, and begins anew when it is full', () => {
    const recollection = new Recollection(3);
    let spelled = 0;
    const open = () => new KeyedRule(() => [{ nth: ++spelled } as unknown as RuleHit], recollection);
    const [one, other] = [open(), open()];
    const ask = (...subjects: string[]) => {
      const before = spelled;
      for (const subject of subjects) for (const rule of [one, other]) rule.hits(subject);
      return spelled - before;
    };
    expect(ask('first')).toBe(2); // Not remembered: a rule may be made for one request.
    expect(ask('ann')).toBe(2);
    expect(ask('ann', 'ann')).toBe(0);
    expect(ask('bob')).toBe(2); // The fourth.
    expect(ask('ann')).toBe(2);
  });
});
