import { describe, expect, it } from '@jest/globals';
import type { Decision, RuleDecision } from '../contracts/decision.js';
import { HEADERS } from './header-styles.js';
import { HEADER_STYLES, rateLimitHeaders, strictestFirst } from './headers.js';

const ALLOWED: RuleDecision = {
  allowed: true,
  rule: 'default',
  limit: 100,
  windowMs: 60_000,
  remaining: 42,
  retryAfterMs: 0,
  resetAfterMs: 17_000,
  delayMs: 0,
};
const DENIED: RuleDecision = { ...ALLOWED, allowed: false, remaining: 0, retryAfterMs: 12_000 };

const answer = (strictest: RuleDecision, ...others: RuleDecision[]): Decision => ({
  ...strictest,
  source: 'redis',
  decisions: [...others, strictest],
});
const at = { now: () => 1_700_000_000_000 };

describe('rateLimitHeaders', () => {
  it.each([
    ['draft-10', { 'RateLimit-Policy': '"default";q=100;w=60', RateLimit: '"default";r=42;t=17' }],
    ['draft-7', { 'RateLimit-Policy': '100;w=60', RateLimit: 'limit=100, remaining=42, reset=17' }],
    [
      'draft-6',
      {
        'RateLimit-Policy': '100;w=60',
        'RateLimit-Limit': '100',
        'RateLimit-Remaining': '42',
        'RateLimit-Reset': '17',
      },
    ],
    [
      'legacy',
      { 'X-RateLimit-Limit': '100', 'X-RateLimit-Remaining': '42', 'X-RateLimit-Reset': '1700000017' },
    ],
  ] as const)('tells a client of %s what its parser expects', (style, expected) => {
    expect(Object.fromEntries(rateLimitHeaders(answer(ALLOWED), [style], at))).toEqual(expected);
  });

  it('returns the headers of a draft and of the legacy style together', () => {
    const names = rateLimitHeaders(answer(ALLOWED), ['draft-7', 'legacy'], at).map(([name]) => name);
    expect(names).toEqual([
      'RateLimit-Policy',
      'RateLimit',
      'X-RateLimit-Limit',
      'X-RateLimit-Remaining',
      'X-RateLimit-Reset',
    ]);
  });

  it('lists every rule of an allowed request, the strictest first', () => {
    const hourly = {
      ...ALLOWED,
      rule: 'hourly',
      limit: 1000,
      windowMs: 3_600_000,
      remaining: 7,
      resetAfterMs: 900_000,
    };
    const decision = answer(hourly, ALLOWED);
    expect(rateLimitHeaders(decision, ['draft-10'])).toEqual([
      ['RateLimit-Policy', '"hourly";q=1000;w=3600, "default";q=100;w=60'],
      ['RateLimit', '"hourly";r=7;t=25, "default";r=42;t=17'],
    ]);
    expect(rateLimitHeaders(decision, ['draft-7'])).toEqual([
      ['RateLimit-Policy', '1000;w=3600, 100;w=60'],
      ['RateLimit', 'limit=1000, remaining=7, reset=900'],
    ]);
  });

  it('omits the policy of concurrency rules in the drafts up to 7, which require a window', () => {
    const exports = {
      ...ALLOWED,
      rule: 'exports',
      limit: 2,
      windowMs: 0,
      remaining: 1,
      resetAfterMs: 30_000,
    };
    const names = (decision: Decision) => rateLimitHeaders(decision, ['draft-7']).map(([name]) => name);
    expect(names(answer(exports))).toEqual(['RateLimit']);
    expect(rateLimitHeaders(answer(exports, ALLOWED), ['draft-7'])[0]).toEqual([
      'RateLimit-Policy',
      '100;w=60',
    ]);
  });

  it('writes the newest published draft, which differs from draft 10 in words only, in the style draft', () => {
    for (const rule of [ALLOWED, DENIED])
      expect(rateLimitHeaders(answer(rule), ['draft'])).toEqual(rateLimitHeaders(answer(rule), ['draft-10']));
  });

  it('names the permits, the time, the cost and the partition in the style draft-12', () => {
    const sources: Readonly<Record<string, unknown>> = {
      default: 'ip',
      mine: 'user',
      both: ['user', 'api-key'],
    };
    const context = { costOf: () => 3, sourceOf: (rule: string) => sources[rule] };
    const [mine, both] = ['mine', 'both'].map((rule) => ({ ...ALLOWED, rule }));
    expect(rateLimitHeaders(answer(ALLOWED, mine!, both!), ['draft-12'], context)).toEqual([
      ['RateLimit-Policy', '"mine";q=100;w=60, "both";q=100;w=60, "default";q=100;w=60'],
      ['RateLimit', '"mine";a=42;w=17;c=3, "both";a=42;w=17;c=3, "default";a=42;w=17;c=3'],
      ['RateLimit-Partition', '"mine";user_id, "both";user_id;client_id'],
    ]);
    expect(rateLimitHeaders(answer(DENIED), ['draft-12'], context)).toEqual([
      ['RateLimit-Policy', '"default";q=100;w=60'],
      ['RateLimit', '"default";a=0;w=12;c=0'],
      ['Retry-After', '12'],
    ]);
  });

  it('states that a concurrency rule counts requests at a time', () => {
    const exports = { ...ALLOWED, rule: 'exports', limit: 2, windowMs: 0 };
    expect(rateLimitHeaders(answer(exports), ['draft-10'])[0]).toEqual([
      'RateLimit-Policy',
      '"exports";q=2;qu="concurrent-requests"',
    ]);
  });

  it.each([
    ['content-bytes', '"default";q=100;qu="content-bytes";w=60'],
    ['tokens', '"default";q=100;w=60'],
  ])('states a unit that the drafts register, and no other: %s', (unit, policy) => {
    expect(rateLimitHeaders(answer({ ...ALLOWED, unit }), ['draft-10'])[0]).toEqual([
      'RateLimit-Policy',
      policy,
    ]);
  });

  it('contains no reset time after Retry-After in a denial', () => {
    const long = {
      ...ALLOWED,
      rule: 'daily',
      limit: 9000,
      windowMs: 86_400_000,
      remaining: 5,
      resetAfterMs: 80_000_000,
    };
    const quick = { ...DENIED, rule: 'burst', limit: 5, windowMs: 1000, retryAfterMs: 150 };
    expect(rateLimitHeaders(answer(DENIED, long, quick), ['draft-10'])).toEqual([
      ['RateLimit-Policy', '"default";q=100;w=60, "burst";q=5;w=1, "daily";q=9000;w=86400'],
      ['RateLimit', '"default";r=0;t=12, "burst";r=0;t=1, "daily";r=5'],
      ['Retry-After', '12'],
    ]);
  });

  it.each([
    ['draft-7', 'RateLimit', 'limit=100, remaining=0, reset=12'],
    ['draft-6', 'RateLimit-Reset', '12'],
    ['legacy', 'X-RateLimit-Reset', '1700000012'],
  ] as const)('agrees with Retry-After in %s: a client may believe either', (style, name, value) => {
    const headers = Object.fromEntries(rateLimitHeaders(answer(DENIED), [style], at));
    expect(headers).toMatchObject({ [name]: value, 'Retry-After': '12' });
  });

  it.each([
    [1, '1'],
    [1000, '1'],
    [1001, '2'],
    [16_999.5, '17'],
  ])(
    'rounds a wait of %d ms up, so that a client that waits this long is allowed',
    (retryAfterMs, seconds) => {
      expect(rateLimitHeaders(answer({ ...DENIED, retryAfterMs }), [])).toEqual([['Retry-After', seconds]]);
    },
  );

  it('contains no Retry-After in any style if the request can never be allowed', () => {
    const decision = answer({ ...DENIED, retryAfterMs: null });
    expect(rateLimitHeaders(decision, ['draft-10'])).toEqual([
      ['RateLimit-Policy', '"default";q=100;w=60'],
      ['RateLimit', '"default";r=0'],
    ]);
    expect(rateLimitHeaders(decision, ['draft-7'])[1]).toEqual([
      'RateLimit',
      'limit=100, remaining=0, reset=17',
    ]);
  });

  it('rounds the instant of the legacy style up after adding the wait to the time', () => {
    const decision = answer({ ...ALLOWED, resetAfterMs: 500 });
    expect(rateLimitHeaders(decision, ['legacy'], { now: () => 1_700_000_000_400 })[2]).toEqual([
      'X-RateLimit-Reset',
      '1700000001',
    ]);
  });

  it('omits a window under a second in draft 10, and rounds it up to a second where `w` is required', () => {
    const decision = answer({ ...ALLOWED, windowMs: 250 });
    expect(rateLimitHeaders(decision, ['draft-10'])[0]).toEqual(['RateLimit-Policy', '"default";q=100']);
    expect(rateLimitHeaders(decision, ['draft-6'])[0]).toEqual(['RateLimit-Policy', '100;w=1']);
  });

  it('escapes quotes and backslashes in the name of a rule', () => {
    const decision = answer({ ...ALLOWED, rule: 'a"b\\c' });
    expect(rateLimitHeaders(decision, ['draft-10'])[1]).toEqual(['RateLimit', '"a\\"b\\\\c";r=42;t=17']);
  });

  it.each(HEADER_STYLES)('never contains a negative number of remaining permits in the style %s', (style) => {
    const values = rateLimitHeaders(answer({ ...ALLOWED, remaining: -3 }), [style], at).map(
      ([, value]) => value,
    );
    expect(values.join()).not.toContain('-');
  });
});

describe('strictestFirst', () => {
  it('sorts rules that never allow first, then by the longest wait, then by the fewest remaining permits', () => {
    const never = { ...DENIED, rule: 'never', retryAfterMs: null };
    const soon = { ...DENIED, rule: 'soon', retryAfterMs: 5 };
    const few = { ...ALLOWED, rule: 'few', remaining: 1 };
    const slow = { ...ALLOWED, rule: 'slow', resetAfterMs: 17_001 };
    const reference = { ...ALLOWED, rule: 'reference' };
    const decision = answer(never, ALLOWED, reference, few, slow, soon, DENIED);
    const names = strictestFirst(decision).map(({ rule, allowed }) => (allowed ? rule : `!${rule}`));
    expect(names).toEqual(['!never', '!default', '!soon', 'few', 'slow', 'default', 'reference']);
  });
});

describe('the option headers', () => {
  it.each([[[]], [['draft-10']], [['draft-6', 'legacy']], [['legacy']]] as const)('accepts %j', (styles) => {
    expect(HEADERS.accepts(styles)).toBe(true);
  });

  it.each([[['draft-10', 'draft-7']], [['draft-7', 'legacy', 'draft-6']], [['legacy', 'legacy']]] as const)(
    'rejects %j, which would set a header twice',
    (styles) => {
      expect(HEADERS.accepts(styles)).toBe(false);
      expect(HEADERS.problems!(styles, 'headers')).toEqual([
        `headers: got ${styles.map((style) => `"${style}"`).join(', ')}; allowed: one of "draft-10", "draft-7", ` +
          '"draft-6", "draft", "draft-12", which all write RateLimit-Policy, and one of "legacy" and "throttler"',
      ]);
    },
  );
});
