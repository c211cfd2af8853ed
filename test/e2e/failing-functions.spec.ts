import { Controller, Get } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimitModule, type RouteRule, type SubjectResolver } from '../../lib/index.js';
import { ALLOWED, configMessage } from '../support/config-message.js';
import { closeApps, FRAMEWORKS, startApp } from '../support/nest-app.js';

const LOG = { window: '1m', limit: 10, algorithm: 'sliding-window-log' } as const;

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
      `window: got "1x"; allowed: ${ALLOWED.duration}`,
    ],
    [
      'nothing at all',
      { limit: () => undefined as never },
      'limit: missing; allowed: an integer from 0 to 1000000000',
    ],
  ];

  async function fail(rule: Partial<RouteRule>) {
    @RateLimit({ ...LOG, name: 'login', ...rule } as RouteRule)
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
    expect(errors).toEqual([configMessage(`rule "login" of Broken.get.${problem}`)]);
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
    ['an object', () => ({ id: 1 }), '{"id":1}'],
    ['a promise of an object', async () => ({ id: 1 }), '{"id":1}'],
    ['no number', () => NaN, 'NaN'],
  ])(
    'answers 500 for a subject that is %s, since all clients would share a counter',
    async (_title, by, given) => {
      const { status, errors } = await fail({ by: by as unknown as SubjectResolver });
      expect(status).toBe(500);
      expect(errors).toEqual([
        configMessage(
          `rule "login" of Broken.get.by: got ${given}; allowed: a function that gives a string or a number, or nothing`,
        ),
      ]);
    },
  );
});
