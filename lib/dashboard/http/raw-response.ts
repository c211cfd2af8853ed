import type { ServerResponse } from 'node:http';
import { HttpException, type Logger } from '@nestjs/common';
import { RateLimitConfigError } from '../../contracts/rate-limit-config.error.js';
import { RateLimitConflictError } from '../../contracts/rate-limit-conflict.error.js';
import { RateLimitStoreError } from '../../limiter/rate-limit-store.error.js';
import { withMaskedSubjects } from '../collect/masked.js';

/** Headers of every response of the page. */
const HEADERS = {
  'cache-control': 'no-store, no-transform',
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
    "require-trusted-types-for 'script'; trusted-types 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

/** A response. */
export interface Reply {
  readonly status: number;
  readonly type: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Returns a response with JSON. */
export function jsonReply(value: unknown, status = 200): Reply {
  return { status, type: 'application/json; charset=utf-8', body: JSON.stringify(value) };
}

/**
 * Returns the response of Node.js, on Express and Fastify: interceptors and serializers of the application would change
 * what the page reads, and a setup of CORS would open it to other origins.
 */
export function rawResponse(response: unknown): ServerResponse {
  const { raw, hijack } = response as { raw?: ServerResponse; hijack?: () => unknown };
  if (!raw || !hijack) return response as ServerResponse;
  hijack.call(response);
  return raw;
}

/** Starts a response with the headers of the page. */
export function writeHead(response: ServerResponse, status: number, headers: Reply['headers']): void {
  for (const name of response.getHeaderNames()) {
    if (name.startsWith('access-control-')) response.removeHeader(name);
  }
  response.writeHead(status, { ...HEADERS, ...headers });
}

export function send(response: ServerResponse, { status, type, body, headers }: Reply): void {
  if (response.headersSent || response.destroyed) return;
  const length = String(Buffer.byteLength(body));
  writeHead(response, status, { 'content-type': type, 'content-length': length, ...headers });
  response.end(body);
}

/** Returns the response for an error, with a message for the page. */
export function failureOf(error: unknown, logger: Logger): Reply {
  if (error instanceof RateLimitConfigError) return failure(422, error.problems.join('\n'));
  if (error instanceof RateLimitConflictError) return failure(409, error.message);
  if (error instanceof RateLimitStoreError) return failure(503, error.message);
  if (error instanceof HttpException) return failure(error.getStatus(), error.message);
  logger.error('A request of the operations page failed.', error);
  return failure(500, 'The request failed; the log of the application has the reason.');
}

function failure(status: number, message: string): Reply {
  return jsonReply({ statusCode: status, message: withMaskedSubjects(message) }, status);
}
