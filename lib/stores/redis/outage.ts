import { DeadlineError } from './deadline.js';

/** What a server answers that is in no state to decide, whoever asks. */
const OUTAGES =
  /(^|-)(LOADING|BUSY|READONLY|OOM|MISCONF|NOAUTH|WRONGPASS|NOPERM|MASTERDOWN|NOREPLICAS|CLUSTERDOWN|TRYAGAIN|UNKILLABLE)\b/;

/** Whether an error is about the server or the way to it, not about what it was asked. */
export function isOutage(error: unknown): boolean {
  if (error instanceof DeadlineError || !(error instanceof Error)) return true;
  return error.name !== 'ReplyError' || OUTAGES.test(error.message);
}
