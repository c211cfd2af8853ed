import type { ExecutionContext } from '@nestjs/common';

/** Calls the listener once the connection's response is over, in whatever way. */
export function onClosed(context: ExecutionContext, listener: () => void): void {
  const response = context.switchToHttp().getResponse<NodeJS.EventEmitter & { raw?: NodeJS.EventEmitter }>();
  (response.raw ?? response).once('close', listener);
}
