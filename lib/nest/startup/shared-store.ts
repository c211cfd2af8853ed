import { loadAlgorithms } from '../../rules/rule-fields.js';
import type { SharedStore } from '../../contracts/base-store.js';
import type { RateLimitEvents } from '../../limiter/events.js';
import { parts } from '../../limiter/parts.js';
import { pipelineOf } from '../../limiter/pipeline.js';
import { logStore, warnOfClocks, warnOfHeartbeats } from '../checks/store-log.js';
import type { Warnings } from '../warnings.js';

parts.layers = pipelineOf;

/**
 * Logs what happens to a store that processes share. Its trial at start needs one more algorithm.
 *
 * @param meanwhile returns what requests get while the store cannot decide
 */
export async function watch(
  store: SharedStore | null,
  events: RateLimitEvents,
  counters: Parameters<typeof warnOfHeartbeats>[1],
  meanwhile: () => string,
  warnings: Warnings,
): Promise<void> {
  await loadAlgorithms(['gcra']);
  warnOfClocks(store, warnings);
  warnOfHeartbeats(store, counters, warnings);
  logStore(store, events, meanwhile);
}
