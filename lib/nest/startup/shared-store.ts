import { loadAlgorithms } from '../../rules/rule-fields.js';
import type { SharedStore } from '../../contracts/base-store.js';
import { parts } from '../../limiter/parts.js';
import { Pipeline } from '../../limiter/pipeline.js';
import { logStore, warnOfClocks, warnOfHeartbeats } from '../checks/store-log.js';
import type { RateLimitModuleOptions } from '../rate-limit.options.js';
import type { RateLimitService } from '../rate-limit.service.js';
import { describeFallbacks } from '../rules/rule-fallbacks.js';
import type { Warnings } from '../warnings.js';

parts.pipeline = Pipeline;

/** Logs what happens to a store that processes share. Its trial at start needs one more algorithm. */
export async function watch(
  store: SharedStore | null,
  { events, table }: RateLimitService,
  options: RateLimitModuleOptions & Parameters<typeof warnOfHeartbeats>[1],
  warnings: Warnings,
): Promise<void> {
  await loadAlgorithms(['gcra']);
  warnOfClocks(store, warnings);
  warnOfHeartbeats(store, options, warnings);
  logStore(store, events, () => describeFallbacks(table.known, options));
}
