import { describe, expect, it } from '@jest/globals';
import type { ArgumentsHost } from '@nestjs/common';
import { ApplicationConfig, type HttpAdapterHost } from '@nestjs/core';
import { catchError, firstValueFrom, of, type Observable } from 'rxjs';
import type { Decision } from '../contracts/decision.js';
import { answerDenial } from '../transports/transports.js';
import type { Responder } from './request/responder.js';
import type { TransportLoader } from './request/transport-loader.js';
import { RateLimitUnavailableException, RateLimitExceededException } from './rate-limit.exception.js';
import { RateLimitFilter } from './rate-limit.filter.js';

const denied = {
  allowed: false,
  rule: 'login',
  limit: 5,
  windowMs: 60_000,
  remaining: 0,
  retryAfterMs: 2_000,
  resetAfterMs: 60_000,
  delayMs: 0,
};
const decision: Decision = { ...denied, source: 'memory', decisions: [denied] };

const QUOTA_EXCEEDED = {
  type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
  title: 'Quota exceeded',
  status: 429,
  detail: 'Rule "login" allows 5 per 1 m; try again in 2 s.',
  'violated-policies': ['login'],
  retryAfterMs: 2_000,
};

/** Creates the filter with an HTTP adapter that records its calls. */
function filterOver(answers: unknown[], type = 'fastify'): RateLimitFilter {
  const httpAdapter = {
    getType: () => type,
    isHeadersSent: () => false,
    setHeader: (_response: unknown, name: string, value: string) => answers.push({ [name]: value }),
    reply: (_response: unknown, body: unknown, status: number) => answers.push({ status, body }),
    status: (_response: unknown, status: number) => answers.push({ status }),
    end: (_response: unknown, end: string) => answers.push({ end }),
  };
  const responder = { complete: (denial) => denial } as Pick<Responder, 'complete'>;
  return new RateLimitFilter(
    { answerDenial } as Pick<TransportLoader, 'answerDenial'> as TransportLoader,
    { httpAdapter } as unknown as HttpAdapterHost,
    responder as Responder,
    new ApplicationConfig(),
  );
}

function host(type: string, client: unknown = {}): ArgumentsHost {
  const fake = {
    getType: () => type,
    getArgByIndex: () => ({ setHeader: () => undefined }),
    getArgs: () => [client, {}],
    switchToWs: () => ({ getClient: () => client }),
  };
  return fake as unknown as ArgumentsHost;
}

describe('a denial', () => {
  it('is a 429 with problem details over HTTP', () => {
    const answers: unknown[] = [];
    filterOver(answers).catch(new RateLimitExceededException(decision), host('http'));
    expect(answers).toEqual([
      { 'Content-Type': 'application/problem+json; charset=utf-8' },
      { status: 429, body: JSON.stringify(QUOTA_EXCEEDED) },
    ]);
  });

  it('is the same on Express, without an ETag', () => {
    const answers: unknown[] = [];
    filterOver(answers, 'express').catch(new RateLimitExceededException(decision), host('http'));
    expect(answers).toEqual([
      { 'Content-Type': 'application/problem+json; charset=utf-8' },
      { status: 429 },
      { 'Content-Length': `${JSON.stringify(QUOTA_EXCEEDED).length}` },
      { end: JSON.stringify(QUOTA_EXCEEDED) },
    ]);
  });

  it("is a 429 with the user's own body over HTTP, in the adapter's own content type", () => {
    const answers: unknown[] = [];
    filterOver(answers).catch(new RateLimitExceededException(decision, { code: 'SLOW' }), host('http'));
    expect(answers).toEqual([{ status: 429, body: { code: 'SLOW' } }]);
  });

  it('is a 503 over HTTP when the limits could not be checked', () => {
    const answers: unknown[] = [];
    filterOver(answers).catch(new RateLimitUnavailableException(decision), host('http'));
    expect(answers).toMatchObject([
      { 'Content-Type': 'application/problem+json; charset=utf-8' },
      { status: 503 },
    ]);
  });

  it("reaches a WebSocket client as Nest's event for exceptions, and leaves the socket open", () => {
    const events: unknown[] = [];
    const client = { emit: (...event: unknown[]) => events.push(event) };
    const answer = filterOver([]).catch(new RateLimitExceededException(decision), host('ws', client));
    expect(answer).toBeUndefined();
    expect(events).toEqual([['exception', QUOTA_EXCEEDED]]);
  });

  it('does not crash on a WebSocket client that accepts no events', () => {
    const refuse = () => filterOver([]).catch(new RateLimitExceededException(decision), host('ws', {}));
    expect(refuse).not.toThrow();
  });

  it('reaches the caller of a microservice as an error, not as a response', async () => {
    const exception = new RateLimitExceededException(decision);
    const answer = filterOver([]).catch(exception, host('rpc')) as Observable<never>;
    const caught = answer.pipe(catchError((error: unknown) => of({ error })));
    expect(await firstValueFrom(caught)).toEqual({ error: QUOTA_EXCEEDED });
  });

  it('is passed on to GraphQL, which formats errors itself', () => {
    const exception = new RateLimitExceededException(decision);
    expect(() => filterOver([]).catch(exception, host('graphql'))).toThrow(exception);
  });
});
