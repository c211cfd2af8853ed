import { HttpException, type Logger } from '@nestjs/common';
import { RateLimitConfigError } from '../../contracts/rate-limit-config.error.js';
import { RateLimitConflictError } from '../../contracts/rate-limit-conflict.error.js';
import { RateLimitStoreError } from '../../limiter/rate-limit-store.error.js';
import { jsonReply, type Reply } from './raw-response.js';

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
  return jsonReply({ statusCode: status, message }, status);
}
