import { Controller, Get } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimit } from '../../lib/index.js';
import { ALLOWED, configMessage, FIELDS_OF } from '../support/config-message.js';
import { fromDotEnv, fromFile, fromVariables, restoreEnvironment } from '../support/configured-app.js';
import { closeApps, refusalToStart } from '../support/nest-app.js';

const FIXED = { window: '1m', limit: 3, algorithm: 'fixed-window' } as const;

afterEach(closeApps);
afterEach(restoreEnvironment);

/** The window of a `fixed-window` in a variable, which cannot hold a function. */
const WINDOW = `${ALLOWED.duration}; or "day", "week", "month"`;
const VARIABLE = 'a variable named RATE_LIMIT__<RULE>__<FIELD>, all in capitals';

describe('a wrong override stops the app with one message that', () => {
  it.each([
    ['a negative limit', { limit: -1 }, `limit: got -1; allowed: ${ALLOWED.limit}`],
    ['a limit in words', { limit: 'ten' }, `limit: got "ten"; allowed: ${ALLOWED.limit}`],
    ['an empty limit', { limit: '' }, `limit: got ""; allowed: ${ALLOWED.limit}`],
    ['half a permit', { limit: '2.5' }, `limit: got "2.5"; allowed: ${ALLOWED.limit}`],
    [
      'a window without a unit',
      { window: 60 },
      `window: got 60: write "60s" or "60ms"; allowed: ${ALLOWED.fixedWindow}`,
    ],
    [
      'a window without a unit as a text',
      { window: '60' },
      `window: got "60": write "60s" or "60ms"; allowed: ${ALLOWED.fixedWindow}`,
    ],
    ['an exponent', { limit: '1e3' }, `limit: got "1e3"; allowed: ${ALLOWED.limit}`],
    ['a hexadecimal number', { limit: '0x10' }, `limit: got "0x10"; allowed: ${ALLOWED.limit}`],
    ['a blank', { limit: ' 5' }, `limit: got " 5"; allowed: ${ALLOWED.limit}`],
    ['a fraction of nothing', { limit: '5.0' }, `limit: got "5.0"; allowed: ${ALLOWED.limit}`],
    ['a negative number as a text', { limit: '-1' }, `limit: got "-1"; allowed: ${ALLOWED.limit}`],
    ['an unknown unit', { window: '1x' }, `window: got "1x"; allowed: ${ALLOWED.fixedWindow}`],
    ['an unknown algorithm', { algorithm: 'lucky' }, `algorithm: got "lucky"; allowed: ${ALLOWED.algorithm}`],
    [
      'an unknown field',
      { limt: 5 },
      `limt: no such option of fixed-window: did you mean "limit"?; allowed: ${FIELDS_OF['fixed-window']}`,
    ],
    [
      "another algorithm's option",
      { burst: 5 },
      `burst: no such option of fixed-window; token-bucket and gcra have it; allowed: ${FIELDS_OF['fixed-window']}`,
    ],
    ['an unknown scope', { scope: 'global' }, 'scope: got "global"; allowed: "route", "shared"'],
    [
      'no address',
      { allowList: '10.0.0.0/8,home' },
      `allowList: got ["10.0.0.0/8","home"]; allowed: ${ALLOWED.allowList}`,
    ],
    ['nobody to count', { by: null }, `by: got null; allowed: ${ALLOWED.by}`],
    [
      'a misspelled keyword in `by`',
      { by: 'usr' },
      `by: got "usr": did you mean "user", or { header: "usr" } for a header of that name?; allowed: ${ALLOWED.by}`,
    ],
  ])(
    'a message names the wrong override, the value and the allowed values for %s',
    async (_title, login, problem) => {
      expect(await refusalToStart(await fromFile({ login }))).toBe(
        configMessage(`overrides.login.${problem}`),
      );
    },
  );

  it('a message lists the existing rules when an override names an unknown one', async () => {
    expect(await refusalToStart(await fromFile({ logni: { limit: 5 } }))).toBe(
      configMessage(
        'overrides.logni.limit: no rule is named "logni": did you mean "login"?; allowed: "login", "create-order"',
      ),
    );
  });

  it('a message names the variable with a wrong value', async () => {
    const metadata = await fromVariables({
      RATE_LIMIT__LOGIN__LIMIT: '-1',
      RATE_LIMIT__LOGIN__WINDOW: '1x',
      RATE_LIMIT__LOGNI__LIMIT: '5',
      RATE_LIMIT__CREATE_ORDER__BY: 'ip,apikey',
      RATE_LIMIT__CREATE_ORDER__ON_MISSING_SUBJECT: 'panic',
      RATE_LIMIT__CREATE_ORDER__BURTS: '7',
      RATE_LIMIT__LOGIN__TRIAL__LIMIT: '7',
    });
    expect((await refusalToStart(metadata)).split('\n')).toEqual([
      'Rate limit configuration is wrong:',
      `  - RATE_LIMIT__LOGIN__LIMIT: got "-1"; allowed: ${ALLOWED.count}`,
      `  - RATE_LIMIT__LOGIN__WINDOW: got "1x"; allowed: ${WINDOW}`,
      `  - RATE_LIMIT__CREATE_ORDER__BY: got ["ip","apikey"]: did you mean "api-key", or { header: "apikey" } for a header of that name?; allowed: ${ALLOWED.by}`,
      '  - RATE_LIMIT__CREATE_ORDER__ON_MISSING_SUBJECT: got "panic"; allowed: "ip", "skip", "deny"',
      `  - RATE_LIMIT__CREATE_ORDER__BURTS: no such option of token-bucket: did you mean "burst"?; allowed: ${FIELDS_OF['token-bucket']}`,
      '  - RATE_LIMIT__LOGNI__LIMIT: no rule is named "LOGNI": did you mean "login"?; allowed: "login", "create-order"',
      '  - RATE_LIMIT__LOGIN__TRIAL__LIMIT: no rule is named "LOGIN__TRIAL"; allowed: "login", "create-order"',
    ]);
  });

  it('a message offers both units when a variable is a duration without a unit', async () => {
    const metadata = await fromVariables({
      RATE_LIMIT__LOGIN__WINDOW: '60',
      RATE_LIMIT__LOGIN__BLOCK: '5000',
    });
    expect((await refusalToStart(metadata)).split('\n')).toEqual([
      'Rate limit configuration is wrong:',
      `  - RATE_LIMIT__LOGIN__WINDOW: got "60": write "60s" or "60ms"; allowed: ${WINDOW}`,
      `  - RATE_LIMIT__LOGIN__BLOCK: got "5000": write "5s" or "5000s"; allowed: ${ALLOWED.duration}; or "manual"`,
    ]);
  });

  it.each([
    ...['RATE_LIMIT__LOGIN_LIMIT', 'RATE_LIMIT_LOGIN_LIMIT', 'RATE_LIMIT_LOGIN__LIMIT'],
    ...['RATE_LIMIT__login__limit', 'rate_limit__login__limit', 'rate-limit__login__limit'],
    ...['RATELIMIT__LOGIN__LIMIT', 'RATE_LIMITS__LOGIN__LIMIT', 'RATE_LIMITER__LOGIN__LIMIT'],
    ...['RATELIMIT_LOGIN_LIMIT', 'RateLimit__Login__Limit', 'RL__LOGIN__LIMIT', 'rl__login__limit'],
  ])('a message names a variable that would be ignored, and how to write it: %s', async (variable) => {
    const metadata = await fromVariables({ [variable]: '5' });
    expect(await refusalToStart(metadata)).toBe(
      configMessage(`${variable}: got "5": write RATE_LIMIT__LOGIN__LIMIT; allowed: ${VARIABLE}`),
    );
  });

  it.each(['RATE_LIMIT__LOGIN', 'rate_limit__login', 'RATELIMIT__LOGIN'])(
    'a message names a variable that would be ignored because it has no field: %s',
    async (variable) => {
      const metadata = await fromVariables({ [variable]: '5' });
      expect(await refusalToStart(metadata)).toBe(
        configMessage(`${variable}: got "5"; allowed: ${VARIABLE}`),
      );
    },
  );

  it('a message names every misspelled variable at once, from the file and the environment', async () => {
    process.env['RATE_LIMIT__login__limit'] = '5';
    const metadata = await fromDotEnv('RATE_LIMIT__WINDOW=1m\nRATE_LIMIT__LOGIN__LIMIT=3\n');
    expect(await refusalToStart(metadata)).toBe(
      configMessage(
        `RATE_LIMIT__login__limit: got "5": write RATE_LIMIT__LOGIN__LIMIT; allowed: ${VARIABLE}`,
        `RATE_LIMIT__WINDOW: got "1m"; allowed: ${VARIABLE}`,
      ),
    );
  });

  it('a message names the rules that one variable could mean, and none is changed', async () => {
    @RateLimit({ ...FIXED, name: 'create-order' })
    @RateLimit({ ...FIXED, name: 'createOrder' })
    @Controller()
    class Orders {
      @Get() get() {}
    }
    const metadata = await fromVariables({ RATE_LIMIT__CREATE_ORDER__LIMIT: '5' });
    expect(await refusalToStart({ ...metadata, controllers: [Orders] })).toBe(
      configMessage(
        'RATE_LIMIT__CREATE_ORDER__LIMIT: several rules have this name: "create-order", "createOrder"; name one of them otherwise',
      ),
    );
  });

  it('a message reports that an override cannot rename its rule', async () => {
    expect(await refusalToStart(await fromFile({ login: { name: 'sign-in' } }))).toBe(
      configMessage('overrides.login.name: got "sign-in"; allowed: nothing, since the key is the name'),
    );
    expect(await refusalToStart(await fromVariables({ RATE_LIMIT__LOGIN__NAME: 'sign-in' }))).toBe(
      configMessage('RATE_LIMIT__LOGIN__NAME: got "sign-in"; allowed: nothing, since the key is the name'),
    );
  });

  it('a message names the line of a .env file', async () => {
    expect(await refusalToStart(await fromDotEnv('RATE_LIMIT__LOGIN__LIMIT=many'))).toBe(
      configMessage(`RATE_LIMIT__LOGIN__LIMIT: got "many"; allowed: ${ALLOWED.count}`),
    );
  });

  it('a message reports a cost that no longer fits into an overridden limit', async () => {
    const metadata = await fromFile({ login: { cost: 4 } });
    expect(await refusalToStart(metadata)).toBe(
      configMessage(
        'rule "login" of Routes.login.cost: got 4; allowed: at most 3, the maximum number of permits taken at once',
      ),
    );
  });

  it.each([
    ['a text', 'login=10'],
    ['a list', [{ login: { limit: 10 } }]],
  ])('a message describes the form of overrides for %s', async (_title, overrides) => {
    const metadata = await fromFile(overrides as object);
    expect(await refusalToStart(metadata)).toBe(
      configMessage(`overrides: got ${JSON.stringify(overrides)}; allowed: ${ALLOWED.rules}`),
    );
  });

  it('names the rule that has a bare value in the place of fields', async () => {
    const metadata = await fromFile({ login: 10 });
    expect(await refusalToStart(metadata)).toBe(
      configMessage(
        'overrides.login: got 10; allowed: an object with fields of a rule, such as { login: { limit: 5 } }',
      ),
    );
  });
});
