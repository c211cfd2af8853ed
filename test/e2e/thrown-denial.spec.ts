import type { ServerResponse } from 'node:http';
import { Controller, Get, HttpException, Inject, Res, Logger } from '@nestjs/common';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import {
  RateLimitExceededException,
  RateLimitModule,
  RateLimitService,
  RateLimitUnavailableException,
  type Decision,
  type RateLimitModuleOptions,
} from '../../lib/index.js';
import { limitHeaders } from '../support/http-client.js';
import { closeApps, FRAMEWORKS, startApp } from '../support/nest-app.js';
import { virtualStore, VirtualTime } from '../support/virtual-store.js';

const MAIL = { name: 'mail', window: '1h', limit: 1, algorithm: 'fixed-window' } as const;

@Controller()
class Mails {
  constructor(@Inject(RateLimitService) private readonly limits: RateLimitService) {}

  @Get('plain')
  async plain() {
    throw new RateLimitExceededException(await this.denied());
  }

  @Get('own')
  async own() {
    throw new RateLimitExceededException(await this.denied(), { code: 'MAILBOX' });
  }

  @Get('unavailable')
  async unavailable() {
    throw new RateLimitUnavailableException(await this.denied());
  }

  @Get('begun')
  async begun(@Res() response: ServerResponse | { raw: ServerResponse }) {
    const raw = 'raw' in response ? response.raw : response;
    raw.write('begun');
    throw new RateLimitExceededException(await this.denied());
  }

  @Get('other')
  other() {
    throw new HttpException('busy', 429);
  }

  private async denied(): Promise<Decision> {
    await this.limits.consume(MAIL, 'tenant-42');
    return this.limits.consume(MAIL, 'tenant-42');
  }
}

const EVERY_ROUTE: RateLimitModuleOptions = {
  rules: { default: { window: '1m', limit: 100, algorithm: 'fixed-window' } },
};

const MAIL_HEADERS = {
  'ratelimit-policy': '"mail";q=1;w=3600',
  ratelimit: '"mail";r=0;t=3600',
  'retry-after': '3600',
};

afterEach(closeApps);

describe.each(FRAMEWORKS)('a denial that a handler throws on %s', (framework) => {
  async function answerOf(path: string, options: RateLimitModuleOptions = {}) {
    const store = virtualStore('memory', new VirtualTime());
    const metadata = { imports: [RateLimitModule.forRoot(options)], controllers: [Mails] };
    const { get, logs } = await startApp(metadata, { framework, store });
    return { ...(await get(path)), logs: logs.ours() };
  }

  it.each([
    ['without other rules', {}],
    ['on a route whose own rule allowed the request', EVERY_ROUTE],
  ])(
    'a denial that a handler throws has the headers of its decision and problem details: %s',
    async (_title, options) => {
      const answer = await answerOf('/plain', options);
      expect(answer.status).toBe(429);
      expect(limitHeaders(answer)).toEqual(MAIL_HEADERS);
      expect(answer.headers['content-type']).toBe('application/problem+json; charset=utf-8');
      expect(JSON.parse(answer.body)).toMatchObject({ status: 429, 'violated-policies': ['mail'] });
    },
  );

  it("a denial that a handler throws has headers in the module's format", async () => {
    const answer = await answerOf('/plain', { headers: 'draft-7' });
    expect(limitHeaders(answer)).toEqual({
      'ratelimit-policy': '1;w=3600',
      ratelimit: 'limit=1, remaining=0, reset=3600',
      'retry-after': '3600',
    });
    await closeApps();
    expect(limitHeaders(await answerOf('/plain', { headers: false }))).toEqual({ 'retry-after': '3600' });
  });

  it.each([
    ['at once', ({ rule }: Decision) => ({ denied: rule })],
    ['later', async ({ rule }: Decision) => Promise.resolve({ denied: rule })],
  ])(
    'a denial that a handler throws has the body that the option `body` returns %s',
    async (_title, body) => {
      const answer = await answerOf('/plain', { ...EVERY_ROUTE, body });
      expect(answer).toMatchObject({ status: 429, body: '{"denied":"mail"}' });
      expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
      expect(limitHeaders(answer)).toEqual(MAIL_HEADERS);
    },
  );

  it('a denial that a handler throws has problem details when the option `body` fails', async () => {
    const body = () => {
      throw new Error('no template');
    };
    const answer = await answerOf('/plain', { body });
    expect(JSON.parse(answer.body)).toMatchObject({ 'violated-policies': ['mail'] });
    expect(limitHeaders(answer)).toEqual(MAIL_HEADERS);
    expect(answer.logs).toContainEqual({ level: 'error', message: expect.stringContaining('`body` failed') });
  });

  it.each([
    [null, 'got null; allowed: a string or an object'],
    [429, 'got 429; allowed: a string or an object'],
  ])('the log has the value %s that the option `body` returned', async (value, message) => {
    const error = jest.spyOn(Logger.prototype, 'error');
    await answerOf('/plain', { body: (() => value) as never });
    const [[, cause]] = error.mock.calls as unknown as [[string, Error]];
    error.mockRestore();
    expect(cause.message).toBe(message);
  });

  it('a denial that a handler throws keeps the body that the handler set', async () => {
    const answer = await answerOf('/own', { body: () => 'not this one' });
    expect(answer).toMatchObject({ status: 429, body: '{"code":"MAILBOX"}' });
    expect(limitHeaders(answer)).toEqual(MAIL_HEADERS);
  });

  it('a 503 that a handler throws has the headers of its decision', async () => {
    const answer = await answerOf('/unavailable', { ...EVERY_ROUTE, body: () => 'not this one' });
    expect(answer.status).toBe(503);
    expect(limitHeaders(answer)).toEqual(MAIL_HEADERS);
    expect(JSON.parse(answer.body)).toMatchObject({ status: 503 });
  });

  it('a denial that a handler throws ends a response that has already begun', async () => {
    const answer = await answerOf('/begun', { body: () => 'not this one' });
    expect(answer).toMatchObject({ status: 200, body: 'begun' });
  });

  it('other exceptions of a handler are not changed', async () => {
    const answer = await answerOf('/other', EVERY_ROUTE);
    expect(answer.status).toBe(429);
    expect(limitHeaders(answer)).toEqual({
      'ratelimit-policy': '"default";q=100;w=60',
      ratelimit: '"default";r=99;t=59',
    });
  });
});
