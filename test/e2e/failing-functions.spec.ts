import { Controller, Get } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimitModule, type RouteRule, type SubjectResolver } from '../../lib/index.js';
import { closeApps, FRAMEWORKS, startApp } from '../support/nest-app.js';

const FIXED = { window: '1m', limit: 10, algorithm: 'fixed-window' } as const;

afterEach(closeApps);

describe.each(FRAMEWORKS)('a function in a rule that fails, on %s', (framework) => {
  const broken: [string, Partial<RouteRule>, string][] = [
    ['a negative limit', { limit: () => -1 }, 'limit: got -1; allowed: an integer from 0 to 1000000000'],
    ['no limit', { limit: () => NaN }, 'limit: got NaN; allowed: an integer from 0 to 1000000000'],
    [
      'a text for a cost',
      { cost: () => '2' as never },
      'cost: got "2"; allowed: an integer from 0 to 1000000000',
    ],
    [
      'a window of nonsense',
      { window: () => '1x' as never },
      'window: got "1x"; allowed: milliseconds above 0, or a string such as "250ms", "10s", "1m", "1h", "1d" or "1w", up to 366 days',
    ],
    [
      'nothing at all',
      { limit: () => undefined as never },
      'limit: missing; allowed: an integer from 0 to 1000000000',
    ],
  ];

  async function fail(rule: Partial<RouteRule>) {
    @RateLimit({ ...FIXED, name: 'login', ...rule })
    @Controller()
    class Broken {
      @Get() get() {}
    }
    @Controller('fine')
    class Fine {
      @Get() get() {}
    }
    const metadata = { imports: [RateLimitModule.forRoot({})], controllers: [Broken, Fine] };
    const app = await startApp(metadata, { framework });
    const { status } = await app.get('/');
    const errors = app.logs.lines.filter(({ level }) => level === 'error').map(({ message }) => message);
    expect((await app.get('/fine')).status).toBe(200);
    return { status, errors };
  }

  it.each(broken)('answers 500 for %s and tells the log what is allowed', async (_title, rule, problem) => {
    const { status, errors } = await fail(rule);
    expect(status).toBe(500);
    expect(errors).toEqual([expect.stringContaining(problem)]);
    expect(errors[0]).toMatch(/rule "login".*Broken\.get/);
  });

  it('answers 500 when it throws or rejects, and the app goes on', async () => {
    const thrown = () => {
      throw new Error('no such plan');
    };
    expect(await fail({ limit: thrown })).toEqual({ status: 500, errors: ['no such plan'] });
    expect(await fail({ cost: async () => thrown() })).toEqual({ status: 500, errors: ['no such plan'] });
    expect(await fail({ skipIf: thrown })).toEqual({ status: 500, errors: ['no such plan'] });
    expect(await fail({ by: async () => thrown() })).toEqual({ status: 500, errors: ['no such plan'] });
  });

  it.each([
    ['an object', () => ({ id: 1 })],
    ['a promise of an object', async () => ({ id: 1 })],
    ['no number', () => NaN],
  ])('answers 500 for a subject that is %s, since all clients would share a counter', async (_title, by) => {
    const { status, errors } = await fail({ by: by as unknown as SubjectResolver });
    expect(status).toBe(500);
    expect(errors).toEqual([expect.stringMatching(/rule "login".*Broken\.get.*by: got/)]);
  });
});
