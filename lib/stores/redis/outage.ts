import { DeadlineError } from './deadline.js';

/** What a server answers that is in no state to decide, whoever asks. */
const OUTAGES =
  /(^|-)(LOADING|BUSY|READONLY|OOM|MISCONF|NOAUTH|WRONGPASS|NOPERM|MASTERDOWN|NOREPLICAS|CLUSTERDOWN|UNKILLABLE)\b/;

/** What a cluster answers about keys that are on the move; the server can decide others. */
const MOVES = /(^|^Too many Cluster redirections\. Last error: ReplyError: )(TRYAGAIN|ASK|MOVED)\b/;

/** Whether an error is about the server or the way to it, not about what it was asked. */
export function isOutage(error: unknown): boolean {
  if (error instanceof DeadlineError || !(error instanceof Error)) return true;
  if (MOVES.test(error.message)) return false;
  return error.name !== 'ReplyError' || OUTAGES.test(error.message);
}
