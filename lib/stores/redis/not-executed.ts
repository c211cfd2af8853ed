import { DeadlineError } from './deadline.js';

/** Error replies of a server that has executed nothing, but may do so later. */
const NOT_NOW =
  /^(Too many Cluster redirections\b.*|TRYAGAIN|NOSCRIPT|ERR Function not found|LOADING|BUSY|READONLY|OOM|MISCONF|NOAUTH|MASTERDOWN|NOREPLICAS|CLUSTERDOWN)\b/;

/** End of the message of ioredis about a command that it has not written. */
const NOT_WRITTEN = ' enableOfflineQueue options is false';

/** Whether a call has certainly not been executed, so that it can be sent again. */
export function wasNotExecuted(error: unknown): boolean {
  if (!(error instanceof Error) || error.cause instanceof DeadlineError) return false;
  return NOT_NOW.test(error.message) || error.message.endsWith(NOT_WRITTEN);
}

/** Whether an error is that of a command without a connection, which does not contain the reason. */
export function lacksConnection({ name, message }: Error): boolean {
  return name === 'MaxRetriesPerRequestError' || message.endsWith(NOT_WRITTEN);
}
