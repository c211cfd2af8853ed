import { loadAlgorithms } from '../../rules/rule-fields.js';
import type { SharedStore } from '../../contracts/base-store.js';
import type { RateLimitEvents } from '../../limiter/events.js';
import { parts } from '../../limiter/parts.js';
import { pipelineOf } from '../../limiter/pipeline.js';
import { logStore, warnOfClocks, warnOfHeartbeats } from '../checks/store-log.js';
import type { Warnings } from '../warnings.js';

parts.layers = pipelineOf;

/** Logs what happens to a store that processes share. Its trial at start needs one more algorithm. */
export async function watch(
  store: SharedStore | null,
  events: RateLimitEvents,
  {
    application,
    prefix,
    meanwhile,
    warnings,
  }: {
    readonly application: string | undefined;
    readonly prefix: string;
    /** Returns what requests get while the store cannot decide. */
    readonly meanwhile: () => string;
    readonly warnings: Warnings;
  },
): Promise<void> {
  await loadAlgorithms(['gcra']);
  warnOfClocks(store, warnings);
  warnOfHeartbeats(store, { application, prefix }, warnings);
  logStore(store, events, meanwhile);
}
