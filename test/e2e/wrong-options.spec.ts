import { Module } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimitModule, type RateLimitModuleOptions } from '../../lib/index.js';
import { ALLOWED, configMessage } from '../support/config-message.js';
import { closeApps, refusalToStart } from '../support/nest-app.js';

const FIXED = { window: '1m', limit: 3, algorithm: 'fixed-window' } as const;

afterEach(closeApps);

describe('a wrong option of the module stops the app with one message that', () => {
  const refusal = (options: unknown) =>
    refusalToStart({ imports: [RateLimitModule.forRoot(options as RateLimitModuleOptions)] });
  const REDIS = 'a redis:// or rediss:// URL, ioredis options as an object, or an ioredis client or Cluster';
  const STYLES =
    '"draft-10", "draft-7", "draft-6", "draft", "draft-12", "legacy", "throttler", a list of these, or false';
  const TOGETHER =
    'one of "draft-10", "draft-7", "draft-6", "draft", "draft-12", which all write RateLimit-Policy, and one of "legacy" and "throttler"';

  it.each([
    ['a URL of another kind', { redis: 'http://x' }, `redis: got "http://x"; allowed: ${REDIS}`],
    ['a port for Redis', { redis: 6379 }, `redis: got 6379; allowed: ${REDIS}`],
    ['an unknown option', { limits: {} }, `limits: no such option; allowed: ${ALLOWED.options}`],
    ['an unknown style', { headers: 'draft-99' }, `headers: got "draft-99"; allowed: ${STYLES}`],
    ['true for a style', { headers: true }, `headers: got true; allowed: ${STYLES}`],
    [
      'styles that write the same header',
      { headers: ['draft-7', 'draft-10'] },
      `headers: got "draft-7", "draft-10"; allowed: ${TOGETHER}`,
    ],
    [
      'a style twice',
      { headers: ['legacy', 'legacy'] },
      `headers: got "legacy", "legacy"; allowed: ${TOGETHER}`,
    ],
    ['no time at all', { timeout: 0 }, 'timeout: got 0; allowed: an integer from 1, in milliseconds'],
    [
      'a time that is no count of milliseconds',
      { timeout: '50ms' },
      'timeout: got "50ms"; allowed: an integer from 1, in milliseconds',
    ],
    [
      'an empty text for a number',
      { timeout: '', maxKeys: 5 },
      'timeout: got ""; allowed: an integer from 1, in milliseconds',
    ],
    ['an exponent for a number', { maxKeys: '1e3' }, 'maxKeys: got "1e3"; allowed: an integer from 1'],
    ['a text for a switch', { functions: 'off' }, 'functions: got "off"; allowed: true or false'],
    [
      'a misspelled extra',
      { registerGaurd: false },
      `registerGaurd: no such option: did you mean "registerGuard"?; allowed: ${ALLOWED.options}`,
    ],
    ...['Retry-After', 'RateLimit-Policy', 'content-length', 'Set-Cookie'].map(
      (denialIdHeader): [string, object, string] => [
        `the header ${denialIdHeader} for ids`,
        { denialIdHeader },
        `denialIdHeader: got "${denialIdHeader}"; allowed: a name of a header of your own, such as "x-denial-id"`,
      ],
    ),
    [
      'no name of an algorithm',
      { rules: { default: { ...FIXED, algorithm: null } } },
      `rules.default.algorithm: got null; allowed: ${ALLOWED.algorithm}`,
    ],
    [
      'too few permits to prefetch',
      { rules: { default: { ...FIXED, prefetch: { permits: 1, ttl: '1s' } } } },
      `rules.default.prefetch: got {"permits":1,"ttl":"1s"}; allowed: { permits: an integer from 2 to 1000000, ttl: ${ALLOWED.duration} }`,
    ],
    [
      'a list with no number',
      { rules: { default: { ...FIXED, alerts: [NaN] } } },
      'rules.default.alerts: got ["NaN"]; allowed: a list of 1 to 8 different fractions above 0 and up to 1, such as [0.8, 1]',
    ],
    ['no key at all', { maxKeys: 0 }, 'maxKeys: got 0; allowed: an integer from 1'],
    [
      'a prefix that would change where Redis Cluster keeps a key',
      { prefix: 'rl:{x}' },
      'prefix: got "rl:{x}"; allowed: 0 to 64 printable ASCII characters without braces and spaces',
    ],
    ['panic', { onStoreError: 'panic' }, 'onStoreError: got "panic"; allowed: "allow", "deny", "local"'],
    [
      'a body that is no function',
      { body: {} },
      'body: got {}; allowed: "nest", or a function of the decision and the ExecutionContext',
    ],
    [
      'a list of rules',
      { rules: [FIXED] },
      `rules: got ${JSON.stringify([FIXED])}; allowed: ${ALLOWED.rules}`,
    ],
    [
      'a default window without a unit',
      { defaults: { window: 60 } },
      `defaults.window: got 60: write "60s" or "60ms"; allowed: ${ALLOWED.window}`,
    ],
    [
      'a default that is wrong',
      { defaults: { limit: -1 } },
      `defaults.limit: got -1; allowed: ${ALLOWED.limit}`,
    ],
  ])(
    'a message names the wrong option, the value and the allowed values for %s',
    async (_title, options, problem) => {
      // One rule, because `defaults` without a rule would log a warning.
      const rules = { rules: { default: FIXED } };
      expect(await refusal({ ...rules, ...options })).toBe(configMessage(problem));
    },
  );

  it.each(['registerGuard', 'registerFilter', 'isGlobal'])(
    'a message names the right place for %s when a factory returns it',
    async (name) => {
      const useFactory = () => ({ rules: { default: FIXED }, [name]: false });
      expect(await refusalToStart({ imports: [RateLimitModule.forRootAsync({ useFactory })] })).toBe(
        configMessage(`${name}: got in the result of a factory; write it beside \`useFactory\``),
      );
    },
  );

  it('a message names every wrong option', async () => {
    expect(
      await refusal({ redis: 'http://x', limits: {}, timeout: -1, headers: ['draft-7', 'draft-6'] }),
    ).toBe(
      configMessage(
        `redis: got "http://x"; allowed: ${REDIS}`,
        `limits: no such option; allowed: ${ALLOWED.options}`,
        'timeout: got -1; allowed: an integer from 1, in milliseconds',
        `headers: got "draft-7", "draft-6"; allowed: ${TOGETHER}`,
      ),
    );
  });

  it('a message names wrong options and wrong rules together', async () => {
    expect(await refusal({ timeout: -1, rules: { login: { ...FIXED, limit: -1 } } })).toBe(
      configMessage(
        'timeout: got -1; allowed: an integer from 1, in milliseconds',
        `rules.login.limit: got -1; allowed: ${ALLOWED.limit}`,
      ),
    );
  });

  it.each([
    ['undefined, as of a forgotten return', undefined, 'undefined'],
    ['null', null, 'null'],
    ['a text', 'redis://localhost', '"redis://localhost"'],
    ['a number', 5, '5'],
    ['a list', [], '[]'],
  ])('a message reports that a factory returned no options but %s', async (_title, options, given) => {
    const limits = RateLimitModule.forRootAsync({ useFactory: () => options as RateLimitModuleOptions });
    expect(await refusalToStart({ imports: [limits] })).toBe(
      configMessage(`the options of RateLimitModule: got ${given}; allowed: an object`),
    );
  });

  it('a message reports that the module is imported twice with options', async () => {
    @Module({ imports: [RateLimitModule.forRoot({ rules: { default: FIXED } })] })
    class Feature {}
    const limits = RateLimitModule.forRoot({ rules: { default: FIXED } });
    expect(await refusalToStart({ imports: [limits, Feature] })).toBe(
      configMessage(
        'RateLimitModule: imported with options more than once; allowed: once, in the root module',
      ),
    );
  });
});
