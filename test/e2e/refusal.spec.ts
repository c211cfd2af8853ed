import type { ServerResponse } from 'node:http';
import {
  Catch,
  Controller,
  Get,
  type ArgumentsHost,
  type ExceptionFilter,
  type INestApplication,
} from '@nestjs/common';
import { BaseExceptionFilter } from '@nestjs/core';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  RateLimit,
  RateLimitExceededException,
  RateLimitModule,
  type Decision,
  type RateLimitModuleOptions,
} from '../../lib/index.js';
import { limitHeaders } from '../support/http-client.js';
import { closeApps, FRAMEWORKS, startApp, type AppSetup } from '../support/nest-app.js';
import { virtualStore, VirtualTime } from '../support/virtual-store.js';
import { INSTANCE } from '../support/denial-id.js';

@Controller()
class LoginController {
  @RateLimit({ name: 'login', window: '1m', limit: 1, algorithm: 'fixed-window' })
  @Get('login')
  login() {}

  @RateLimit({ name: 'hour', window: '1h', limit: 1, algorithm: 'fixed-window' })
  @RateLimit({ name: 'minute', window: '90s', limit: 1, algorithm: 'fixed-window' })
  @RateLimit({ name: 'plenty', window: '1d', limit: 9, algorithm: 'fixed-window' })
  @Get('export')
  export() {}
}

const LOGIN_REFUSED = {
  type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
  title: 'Quota exceeded',
  status: 429,
  detail: 'Rule "login" allows 1 per 1 m; try again in 18 s.',
  'violated-policies': ['login'],
  retryAfterMs: 17_500,
  ...INSTANCE,
};

const LOGIN_HEADERS = {
  'ratelimit-policy': '"login";q=1;w=60',
  ratelimit: '"login";r=0;t=18',
  'retry-after': '18',
};

afterEach(closeApps);

describe.each(FRAMEWORKS)('a denied request on %s', (framework) => {
  /** Returns the second of two responses, 42.5 s after the first one. */
  async function refused(
    path: string,
    options: RateLimitModuleOptions = {},
    { method = 'GET', ...setup }: Partial<AppSetup> & { method?: string } = {},
  ) {
    const time = new VirtualTime();
    const store = virtualStore('memory', time);
    const metadata = { imports: [RateLimitModule.forRoot(options)], controllers: [LoginController] };
    const { get, send } = await startApp(metadata, { framework, store, ...setup });
    expect((await get(path)).status).toBe(200);
    time.advance(42_500);
    return send({ method, path });
  }

  it('a denied request gets problem details with the rule and the wait', async () => {
    const answer = await refused('/login');
    expect(answer.status).toBe(429);
    expect(answer.headers['content-type']).toBe('application/problem+json; charset=utf-8');
    expect(JSON.parse(answer.body)).toEqual(LOGIN_REFUSED);
    expect(limitHeaders(answer)).toEqual(LOGIN_HEADERS);
  });

  it('a denied HEAD request gets the same response without the body', async () => {
    const answer = await refused('/login', {}, { method: 'HEAD' });
    expect(answer).toMatchObject({ status: 429, body: '' });
    expect(answer.headers).toMatchObject({
      ...LOGIN_HEADERS,
      'content-type': 'application/problem+json; charset=utf-8',
      'content-length': `${JSON.stringify({ ...LOGIN_REFUSED, instance: '#123456789012' }).length}`,
    });
  });

  it('a denied request keeps cookies and headers that were set before', async () => {
    const configure = (app: INestApplication) =>
      app.use((_request: unknown, response: ServerResponse, next: () => void) => {
        response.setHeader('Set-Cookie', ['session=1', 'theme=dark']);
        response.setHeader('X-Request-Id', '7');
        next();
      });
    const { status, headers } = await refused('/login', {}, { configure });
    expect(status).toBe(429);
    expect(headers).toMatchObject({ 'set-cookie': 'session=1,theme=dark', 'x-request-id': '7' });
    expect(headers).toMatchObject(LOGIN_HEADERS);
  });

  it('a denied request lists every rule that denied, longest wait first, and no rule that allowed', async () => {
    const answer = await refused('/export');
    expect(JSON.parse(answer.body)).toEqual({
      ...LOGIN_REFUSED,
      detail: 'Rule "hour" allows 1 per 1 h and rule "minute" allows 1 per 90 s; try again in 1 h.',
      'violated-policies': ['hour', 'minute'],
      retryAfterMs: 3_557_500,
    });
  });

  it('a denied request gets the text that the option `body` returns', async () => {
    const body = ({ rule, retryAfterMs }: Decision) => `${rule}: wait ${retryAfterMs} ms`;
    const answer = await refused('/login', { body });
    expect(answer.status).toBe(429);
    expect(answer.headers['content-type']).toMatch(/^text\//);
    expect(answer.body).toBe('login: wait 17500 ms');
    expect(limitHeaders(answer)).toEqual(LOGIN_HEADERS);
  });

  it('a denied request gets the object that the option `body` returns, as plain JSON', async () => {
    const answer = await refused('/login', { body: (decision) => ({ code: 'SLOW_DOWN', decision }) });
    expect(answer.status).toBe(429);
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
    const decided = {
      allowed: false,
      rule: 'login',
      limit: 1,
      windowMs: 60_000,
      remaining: 0,
      retryAfterMs: 17_500,
      resetAfterMs: 17_500,
      delayMs: 0,
    };
    const decision = { ...decided, source: 'memory', decisions: [decided] };
    expect(JSON.parse(answer.body)).toEqual({ code: 'SLOW_DOWN', decision });
    expect(limitHeaders(answer)).toEqual(LOGIN_HEADERS);
  });

  it("a denied request still gets a 429 with headers when Nest's own handler comes first", async () => {
    const configure = (app: INestApplication) =>
      app.useGlobalFilters(new BaseExceptionFilter(app.getHttpAdapter()));
    const answer = await refused('/login', {}, { configure });
    expect(answer.status).toBe(429);
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(JSON.parse(answer.body)).toEqual(LOGIN_REFUSED);
    expect(limitHeaders(answer)).toEqual(LOGIN_HEADERS);
  });

  it('a catch-all filter of the application receives the decision of a denied request', async () => {
    const caught: unknown[] = [];
    @Catch()
    class CatchAll implements ExceptionFilter {
      catch(exception: unknown, host: ArgumentsHost) {
        caught.push(exception);
        const response = host
          .switchToHttp()
          .getResponse<{ status(code: number): { send(text: string): void } }>();
        response.status(418).send('mine');
      }
    }
    const answer = await refused('/login', {}, { configure: (app) => app.useGlobalFilters(new CatchAll()) });
    expect(answer).toMatchObject({ status: 418, body: 'mine' });
    expect(limitHeaders(answer)).toEqual(LOGIN_HEADERS);
    expect(caught).toEqual([expect.any(RateLimitExceededException)]);
    const [exception] = caught as [RateLimitExceededException];
    expect(exception.getStatus()).toBe(429);
    expect(exception.decision).toMatchObject({ rule: 'login', retryAfterMs: 17_500, source: 'memory' });
  });
});
