import type { ExecutionContext } from '@nestjs/common';

/** Calls the listener once when the response is complete or its connection is closed. */
export function onClosed(context: ExecutionContext, listener: () => void): void {
  const response = context.switchToHttp().getResponse<NodeJS.EventEmitter & { raw?: NodeJS.EventEmitter }>();
  (response.raw ?? response).once('close', listener);
}
