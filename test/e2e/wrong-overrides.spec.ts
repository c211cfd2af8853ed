import { afterEach, describe, expect, it } from '@jest/globals';
import { ALLOWED, configMessage } from '../support/config-message.js';
import { fromDotEnv, fromFile, fromVariables, restoreEnvironment } from '../support/configured-app.js';
import { closeApps, refusalToStart } from '../support/nest-app.js';

afterEach(closeApps);
afterEach(restoreEnvironment);

describe('a wrong override stops the app with one message that', () => {
  it.each([
    ['a negative limit', { limit: -1 }, `limit: got -1; allowed: ${ALLOWED.limit}`],
    ['a limit in words', { limit: 'ten' }, `limit: got "ten"; allowed: ${ALLOWED.limit}`],
    ['an empty limit', { limit: '' }, `limit: got ""; allowed: ${ALLOWED.limit}`],
    ['half a permit', { limit: '2.5' }, `limit: got 2.5; allowed: ${ALLOWED.limit}`],
    ['an unknown unit', { window: '1x' }, `window: got "1x"; allowed: ${ALLOWED.window}`],
    ['an unknown algorithm', { algorithm: 'lucky' }, `algorithm: got "lucky"; allowed: ${ALLOWED.algorithm}`],
    [
      'an unknown field',
      { limt: 5 },
      `limt: no such option of fixed-window; allowed: ${ALLOWED.fields}, align`,
    ],
    [
      "another algorithm's option",
      { burst: 5 },
      `burst: no such option of fixed-window; allowed: ${ALLOWED.fields}, align`,
    ],
    ['an unknown scope', { scope: 'global' }, 'scope: got "global"; allowed: "route", "shared"'],
    [
      'no address',
      { allowList: '10.0.0.0/8,home' },
      `allowList: got ["10.0.0.0/8","home"]; allowed: ${ALLOWED.allowList}`,
    ],
    [
      'nobody to count',
      { by: null },
      'by: got null; allowed: "ip", "user", "api-key", "everyone", the name of a header, a function, or a list of these',
    ],
  ])('names the key, what it got and what it allows, for %s', async (_title, login, problem) => {
    expect(await refusalToStart(await fromFile({ login }))).toBe(configMessage(`overrides.login.${problem}`));
  });

  it('names the rules that there are, for one that there is not', async () => {
    expect(await refusalToStart(await fromFile({ logni: { limit: 5 } }))).toBe(
      configMessage('overrides.logni.limit: no rule is named "logni"; allowed: "login", "create-order"'),
    );
  });

  it('names the variable, where one was wrong', async () => {
    const metadata = await fromVariables({
      RATE_LIMIT__LOGIN__LIMIT: '-1',
      RATE_LIMIT__LOGIN__WINDOW: '1x',
      RATE_LIMIT__LOGNI__LIMIT: '5',
      RATE_LIMIT__CREATE_ORDER__ON_MISSING_SUBJECT: 'panic',
      RATE_LIMIT__CREATE_ORDER__BURTS: '7',
    });
    expect((await refusalToStart(metadata)).split('\n')).toEqual([
      'Rate limit configuration is wrong:',
      `  - RATE_LIMIT__LOGIN__LIMIT: got -1; allowed: ${ALLOWED.limit}`,
      `  - RATE_LIMIT__LOGIN__WINDOW: got "1x"; allowed: ${ALLOWED.window}`,
      '  - RATE_LIMIT__CREATE_ORDER__ON_MISSING_SUBJECT: got "panic"; allowed: "ip", "skip", "deny"',
      `  - RATE_LIMIT__CREATE_ORDER__BURTS: no such option of token-bucket; allowed: ${ALLOWED.fields}, burst`,
      '  - RATE_LIMIT__LOGNI__LIMIT: no rule is named "LOGNI"; allowed: "login", "create-order"',
    ]);
  });

  it.each(['RATE_LIMIT__LOGIN_LIMIT', 'RATE_LIMIT__LOGIN', 'RATE_LIMIT__login__limit'])(
    'names a variable that begins as ours do and is spelled wrong: %s',
    async (variable) => {
      const metadata = await fromVariables({ [variable]: '5' });
      expect(await refusalToStart(metadata)).toContain(variable);
    },
  );

  it('names the line of a .env file', async () => {
    expect(await refusalToStart(await fromDotEnv('RATE_LIMIT__LOGIN__LIMIT=many'))).toBe(
      configMessage(`RATE_LIMIT__LOGIN__LIMIT: got "many"; allowed: ${ALLOWED.limit}`),
    );
  });

  it('says so when a cost no longer fits into an overridden limit', async () => {
    const metadata = await fromFile({ login: { cost: 4 } });
    expect(await refusalToStart(metadata)).toBe(
      configMessage(
        'rule "login" of Routes.login.cost: got 4; allowed: at most 3, the most permits that can be had at once',
      ),
    );
  });

  it.each([
    ['a text', 'login=10'],
    ['a list', [{ login: { limit: 10 } }]],
    ['a bare value for a rule', { login: 10 }],
  ])('says what overrides look like, for %s', async (_title, overrides) => {
    const metadata = await fromFile(overrides as object);
    expect(await refusalToStart(metadata)).toBe(
      configMessage(`overrides: got ${JSON.stringify(overrides)}; allowed: ${ALLOWED.rules}`),
    );
  });
});
