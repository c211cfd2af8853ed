import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Body, Controller, Post, StandardSchemaValidationPipe } from '@nestjs/common';
import { ConfigModule } from '@nestjs/config';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import {
  rateLimitEnvSchema,
  RateLimitModule,
  rateLimitSchema,
  type RateLimitModuleOptions,
} from '../../lib/index.js';
import { ALLOWED, configMessage } from '../support/config-message.js';
import { fromVariables, restoreEnvironment } from '../support/configured-app.js';
import { closeApps, refusalToStart, startApp } from '../support/nest-app.js';

afterEach(closeApps);
afterEach(restoreEnvironment);

const LOGIN = { window: '1m', limit: 5, algorithm: 'fixed-window' } as const;

/** What any validator gets from a schema: the types are those of the specification. */
async function issuesOf(
  schema: StandardSchemaV1,
  value: unknown,
): Promise<readonly StandardSchemaV1.Issue[]> {
  return (await schema['~standard'].validate(value)).issues ?? [];
}

/** The issues as validators print them, in the form of the error at start. */
const messageOf = (issues: readonly StandardSchemaV1.Issue[]): string =>
  configMessage(
    ...issues.map(({ path = [], message }) => [path.join('.'), message].filter(Boolean).join(': ')),
  );

describe('a value that is hostile', () => {
  const throwing = () => {
    throw new Error('not to be read');
  };
  const env = rateLimitEnvSchema({ onDemand: { login: LOGIN } });

  it.each([
    [
      'an option that throws',
      rateLimitSchema,
      Object.defineProperty({}, 'rules', { get: throwing, enumerable: true }),
    ],
    ['a proxy that throws', rateLimitSchema, new Proxy({}, { ownKeys: throwing, get: throwing })],
    ['variables that throw', env, new Proxy({}, { ownKeys: throwing })],
  ])('has one issue: %s', async (_title, schema, value) => {
    const issues = await issuesOf(schema, value);
    expect(issues).toEqual([{ message: expect.stringContaining('not to be read'), path: [] }]);
  });

  it('has an issue if it has no variables', async () => {
    expect(await issuesOf(env, null)).toEqual([
      { message: 'variables: got null; allowed: an object with variables', path: [] },
    ]);
  });

  it('is checked at once with a name of many underscores, and has 100 issues at most', async () => {
    const name = `RATE_LIMIT${'_'.repeat(300_000)}`;
    expect(await issuesOf(env, { [name]: '1', [`${name}X`]: '1' })).toHaveLength(2);
    const many = Object.fromEntries(Array.from({ length: 5000 }, (_, nth) => [`limt${nth}`, 1]));
    expect(await issuesOf(rateLimitSchema, many)).toHaveLength(100);
  });
});

describe('a file with limits that is checked before the application starts', () => {
  it.each<[string, unknown]>([
    ['a limit in words', { rules: { api: { window: '1m', limit: 'ten' } } }],
    ['no limit', { onDemand: { login: { window: '1m' } } }],
    [
      'a window without a unit, and an unknown option',
      { rules: { api: { window: 60, limit: 5 } }, limits: {} },
    ],
    ['a misspelled field', { rules: { api: { window: '1m', limt: 5 } } }],
    ['a list of rules', { rules: [{ window: '1m', limit: 5 }] }],
    ['a rule that is no object', { onDemand: { login: 5 } }],
    ['plans of a wrong kind', { rules: { api: { ...LOGIN, plans: 3 } } }],
    ['an override with a wrong value', { rules: { api: LOGIN }, overrides: { api: { window: 'soon' } } }],
    ['a rule with a dot and a blank in its name', { rules: { 'v1.0 api': { window: '1m', limit: -1 } } }],
    ['a port for Redis', { redis: 6379 }],
    ['headers that exclude one another', { headers: ['draft-7', 'draft-10'] }],
    ['a text', 'redis://localhost'],
    ['nothing', null],
  ])('has issues with the sentences of the start: %s', async (_title, options) => {
    const issues = await issuesOf(rateLimitSchema, options);
    const given = () => ({ useFactory: () => options as RateLimitModuleOptions });
    expect(messageOf(issues)).toBe(
      await refusalToStart({ imports: [RateLimitModule.forRootAsync(given())] }),
    );
  });

  it('names the value of each issue by its path, also where it is missing or its rule has a dot in its name', async () => {
    const rules = { 'v1.0 api': { window: 60, limit: -1 }, other: { window: '1m' } };
    const issues = await issuesOf(rateLimitSchema, { rules, timeout: 0 });
    expect(issues).toEqual([
      { path: ['timeout'], message: 'got 0; allowed: an integer from 1, in milliseconds' },
      expect.objectContaining({ path: ['rules', 'v1.0 api', 'window'] }),
      { path: ['rules', 'v1.0 api', 'limit'], message: `got -1; allowed: ${ALLOWED.limit}` },
      { path: ['rules', 'other', 'limit'], message: `missing; allowed: ${ALLOWED.limit}` },
    ]);
  });

  it('names a rule whose name begins with that of another rule', async () => {
    const issues = await issuesOf(rateLimitSchema, { rules: { a: LOGIN, 'a.b': { ...LOGIN, limit: -1 } } });
    expect(issues).toEqual([
      { path: ['rules', 'a.b', 'limit'], message: `got -1; allowed: ${ALLOWED.limit}` },
    ]);
  });

  it('has the sentence of the start for fields that do not fit together', async () => {
    const options = { rules: { api: { ...LOGIN, cost: 6 } } };
    expect(await issuesOf(rateLimitSchema, options)).toEqual([
      {
        path: [],
        message: 'rule "api".cost: got 6; allowed: at most 5, the maximum number of permits taken at once',
      },
    ]);
  });

  it('returns right options as they are, and connects to no server', async () => {
    const options = {
      redis: 'redis://127.0.0.1:1',
      rules: { api: { window: '1m', limit: '100', algorithm: 'gcra' } },
      onDemand: { exports: { algorithm: 'concurrency', limit: 2 } },
      overrides: { 'rule of a decorator': { limit: 5 } },
    };
    expect(await rateLimitSchema['~standard'].validate(options)).toEqual({ value: options });
  });

  it('is checked in a request by the pipe of Nest', async () => {
    @Controller()
    class Limits {
      @Post()
      set(@Body({ schema: rateLimitSchema }) options: RateLimitModuleOptions) {
        return options;
      }
    }
    const configure = (app: { useGlobalPipes(pipe: StandardSchemaValidationPipe): unknown }) =>
      app.useGlobalPipes(new StandardSchemaValidationPipe());
    const { port } = await startApp({ controllers: [Limits] }, { framework: 'express', configure });
    const post = async (options: object) => {
      const body = JSON.stringify(options);
      const headers = { 'content-type': 'application/json' };
      return (await fetch(`http://127.0.0.1:${port}`, { method: 'POST', headers, body })).json();
    };
    expect(await post({ rules: { api: LOGIN } })).toEqual({ rules: { api: LOGIN } });
    expect(await post({ rules: { api: { ...LOGIN, limit: -1 } } })).toMatchObject({
      statusCode: 400,
      message: [`rules.api.limit: got -1; allowed: ${ALLOWED.limit}`],
    });
  });
});

describe('variables with limits in ConfigModule', () => {
  const onDemand = { login: LOGIN };
  const load = async (text: string, options?: RateLimitModuleOptions) => {
    const folder = mkdtempSync(join(tmpdir(), 'dot-env-'));
    writeFileSync(join(folder, '.env'), text);
    try {
      const validationSchema = rateLimitEnvSchema(options);
      return await ConfigModule.forRoot({ envFilePath: join(folder, '.env'), validationSchema });
    } finally {
      rmSync(folder, { recursive: true });
    }
  };

  it.each([
    ['RATE_LIMIT__LOGIN__LIMIT', 'ten'],
    ['RATE_LIMIT__LOGIN__WINDOW', '60'],
    ['RATE_LIMIT__LOGIN__BURST', '10'],
    ['RATE_LIMIT_LOGIN_LIMIT', '10'],
  ])('stop it with the sentence of the start: %s=%s', async (name, value) => {
    await expect(load(`${name}=${value}`, { onDemand })).rejects.toThrow(
      `Config validation error: ${name}: `,
    );
    const [problem] = (await issuesOf(rateLimitEnvSchema({ onDemand }), { [name]: value })).map(
      ({ path, message }) => `${path![0] as string}: ${message}`,
    );
    await expect(fromVariables({ [name]: value }).then(refusalToStart)).resolves.toContain(problem);
  });

  it('pass if they are right, or belong to a rule that only a decorator has', async () => {
    const text = 'RATE_LIMIT__LOGIN__LIMIT=7\nRATE_LIMIT__CREATE_ORDER__BURST=20\nPORT=80\n';
    await expect(load(text, { onDemand })).resolves.toMatchObject({ module: ConfigModule });
    expect(process.env['RATE_LIMIT__LOGIN__LIMIT']).toBe('7');
    await expect(load('PORT=80')).resolves.toMatchObject({ module: ConfigModule });
  });

  it('stop it if they do not fit the rule that they override', async () => {
    const options = { onDemand: { login: { ...LOGIN, cost: 3 } } };
    await expect(load('RATE_LIMIT__LOGIN__LIMIT=2', options)).rejects.toThrow(
      'rule "login".cost: got 3; allowed: at most 2',
    );
  });
});

it('a schema has the form of the specification, with the types of its value', () => {
  const schema: StandardSchemaV1<RateLimitModuleOptions> = rateLimitSchema;
  const { version, vendor, validate } = schema['~standard'];
  expect([version, vendor, typeof validate]).toEqual([1, 'nestjs-redis-rate-limit', 'function']);
  const input: StandardSchemaV1.InferInput<typeof rateLimitSchema> = { rules: { api: LOGIN } };
  const output: StandardSchemaV1.InferOutput<typeof rateLimitSchema> = input;
  expect(output).toBe(input);
});
