import { describe, expect, it } from '@jest/globals';
import { readRule } from './rule-text.js';
import { denialsOf, suggest, templatesOf, type ClientTimes, type Denials } from './suggest.js';

const NO_MAXIMUM: Denials = { denied: Infinity, clientsDenied: Infinity };
const SECOND = 1e6;

/** 50 clients: the nth sends 2n + 1 requests, some of them in bursts. */
const clients: ClientTimes = Array.from({ length: 50 }, (_, n) =>
  Array.from({ length: 2 * (49 - n) + 1 }, (_each, at) => 1.7e15 + Math.floor(at / (1 + (n % 5))) * SECOND),
);

describe('a suggested limit', () => {
  it('is the smallest one within the target, for each algorithm with the windows of the rules', () => {
    const templates = templatesOf(['5/10s', '5/1m gcra burst=20']);
    expect(templates).toHaveLength(15);
    for (const template of templates) {
      const { limit, rule, denied, clientsDenied } = suggest(template, clients, {
        share: 0.02,
        of: 'requests',
      });
      expect(denialsOf(readRule(rule), clients, NO_MAXIMUM)).toEqual({ denied, clientsDenied });
      expect(denied).toBeLessThanOrEqual(50); // of 2,500
      if (limit === 1) continue;
      const less = rule.replace(`${limit}/`, `${limit! - 1}/`);
      expect(denialsOf(readRule(less), clients, NO_MAXIMUM).denied).toBeGreaterThan(50);
    }
  });

  it('can be one for a share of clients', () => {
    const [template] = templatesOf(['1/1h']);
    const target = { share: 0.1, of: 'clients' } as const;
    // A fixed window of an hour denies the clients with more requests than the limit: 99, 97, 95, 93 and 91.
    expect(suggest(template!, clients, target)).toMatchObject({ limit: 89, clientsDenied: 5 });
  });

  it('is none where an option denies more, whatever the limit', () => {
    const burst = [new Array<number>(100).fill(1.7e15)];
    const template = { algorithm: 'gcra', window: '1m', options: 'burst=10' };
    expect(suggest(template, burst, { share: 0.5, of: 'requests' }).limit).toBeNull();
    expect(suggest({ ...template, options: '' }, burst, { share: 0.5, of: 'requests' }).limit).toBe(50);
  });
});
