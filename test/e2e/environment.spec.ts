import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ConfigModuleOptions } from '@nestjs/config';
import { afterEach, describe, expect, it } from '@jest/globals';
import { overridesFromEnv } from '../../lib/index.js';
import { configMessage } from '../support/config-message.js';
import { configuredBy, fromVariables, restoreEnvironment } from '../support/configured-app.js';
import { limitHeaders } from '../support/http-client.js';
import { closeApps, refusalToStart, startApp } from '../support/nest-app.js';

afterEach(closeApps);
afterEach(restoreEnvironment);

describe('a variable that sets a limit', () => {
  const fromFile = async (options: ConfigModuleOptions) => {
    const folder = mkdtempSync(join(tmpdir(), 'dot-env-'));
    const envFilePath = join(folder, '.env');
    writeFileSync(envFilePath, 'RATE_LIMIT__LOGIN__LIMIT=7\n');
    try {
      const config = { envFilePath, ignoreEnvFile: false, ...options };
      return await configuredBy(config, (service) => overridesFromEnv(service));
    } finally {
      rmSync(folder, { recursive: true });
    }
  };

  it.each<ConfigModuleOptions>([{}, { skipProcessEnv: true }])(
    'a variable that is only in a .env file takes effect with ConfigModule.forRoot(%j)',
    async (options) => {
      const { get } = await startApp(await fromFile(options), { framework: 'express' });
      expect(limitHeaders(await get('/login'))['ratelimit-policy']).toBe('"login";q=7;w=60');
    },
  );

  it('a variable of a field whose value is an object or a function names where to set it', async () => {
    for (const field of ['PLANS', 'TRIAL', 'ALERTS', 'SKIP_IF', 'SETTLE']) {
      const variable = `RATE_LIMIT__LOGIN__${field}`;
      const app = await fromVariables({ [variable]: '{"a":1}' });
      expect(await refusalToStart(app)).toContain(`${variable}: set it in code, in \`overrides\``);
    }
  });

  it('a variable sets a flag to true or false', async () => {
    const flag = (text: string) =>
      fromVariables({ RATE_LIMIT__LOGIN__ALGORITHM: 'gcra', RATE_LIMIT__LOGIN__OVERDRAFT: text });
    for (const text of ['true', 'false']) await startApp(await flag(text), { framework: 'express' });
    expect(await refusalToStart(await flag('yes'))).toContain(
      'RATE_LIMIT__LOGIN__OVERDRAFT: got "yes"; allowed: true or false',
    );
  });

  it.each(['RATE_LIMIT_LOGIN_LIMIT', 'RATE_LIMIT_DEFAULT_LIMIT', 'RATE_LIMIT_LOGIN__LIMIT'])(
    'the misspelled variable %s stops the application',
    async (name) => {
      expect(() => overridesFromEnv({ get: () => '5' }, [name])).toThrow(
        `${name}: got "5": write ${name.replace(/_+(LOGIN|DEFAULT)_+/, '__$1__')}; allowed: a variable named RATE_LIMIT__<RULE>__<FIELD>, all in capitals`,
      );
      await expect(fromVariables({ [name]: '5' }).then(refusalToStart)).resolves.toContain(
        `${name}: got "5"`,
      );
    },
  );

  it('the environment itself is no configuration, and the error has none of its values', () => {
    expect(() => overridesFromEnv({ API_KEY: 'sk-1234' } as never)).toThrow(
      "config of overridesFromEnv: got object; allowed: Nest's ConfigService, or { get: (name) => process.env[name] }",
    );
  });

  it('the environment in the place of overrides stops the application, and the error has none of its values', async () => {
    const metadata = await configuredBy({}, () => ({ API_KEY: 'sk-1234' }) as never);
    expect(await refusalToStart(metadata)).toBe(
      configMessage(
        'overrides.API_KEY: got a text; allowed: an object with fields of a rule, such as { login: { limit: 5 } }',
      ),
    );
  });

  it('the names of variables are a list, and the error about others has none of their values', () => {
    expect(() => overridesFromEnv({ get: () => 5 }, { API_KEY: 'sk-1234' } as never)).toThrow(
      'names of overridesFromEnv: got object; allowed: a list of names of variables',
    );
  });

  it('other environment variables do not affect the application', () => {
    expect(
      overridesFromEnv({ get: () => 'x' }, [
        ...['RATE_LIMIT_ENABLED', 'RATE_LIMITER', 'RATE_LIMIT', 'RATE_LIMIT_REDIS_URL', 'RL__HOME'],
        ...['RL_LOGIN_LIMIT', 'GENERATE_LIMIT__X__LIMIT', 'RATELIMIT_ENABLED'],
      ]),
    ).toEqual({});
  });

  it('is a warning when `overrides` does not read it', async () => {
    process.env['RATE_LIMIT__LOGIN__LIMIT'] = '5';
    process.env['RATE_LIMIT__LOGIN__WINDOW'] = '5m';
    const metadata = await configuredBy({}, () => ({}));
    const { logs } = await startApp(metadata, { framework: 'express' });
    expect(logs.ours()).toContainEqual({
      level: 'warn',
      message:
        'RATE_LIMIT__LOGIN__LIMIT, RATE_LIMIT__LOGIN__WINDOW: set in the environment and not read, so no rule has the ' +
        'value. Add `overrides: overridesFromEnv(config)` to the options of the module, or remove the variable. ' +
        '(RL_UNREAD_VARIABLES, see docs/warnings.md)',
    });
  });

  it('is a warning when an underscore is missing and nothing reads variables', async () => {
    process.env['RATE_LIMIT_DEFAULT_LIMIT'] = '5';
    const { logs } = await startApp(await configuredBy({}, () => ({})), { framework: 'express' });
    delete process.env['RATE_LIMIT_DEFAULT_LIMIT'];
    expect(logs.ours().map(({ message }) => message)).toContainEqual(
      expect.stringMatching(/^RATE_LIMIT_DEFAULT_LIMIT: set in the environment and not read/),
    );
  });

  it('is no warning when it is read beside other sources', async () => {
    process.env['RATE_LIMIT__LOGIN__LIMIT'] = '5';
    const metadata = await configuredBy({}, (config) => ({
      ...overridesFromEnv(config),
      'create-order': { limit: 5 },
    }));
    const { logs } = await startApp(metadata, { framework: 'express' });
    expect(logs.ours().filter(({ message }) => message.includes('RL_UNREAD'))).toEqual([]);
  });

  it('a variable without a value stops the application when it is read by name', () => {
    expect(() => overridesFromEnv({ get: () => undefined }, ['RATE_LIMIT__LOGIN__LIMIT'])).toThrow(
      'RATE_LIMIT__LOGIN__LIMIT: has no value',
    );
  });
});
