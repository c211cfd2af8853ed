import type { Fallback } from '../contracts/decision.js';
import type { StoreCall } from '../contracts/store-fault.js';
import type { BaseStore, Layer, Store } from '../contracts/store.js';
import { DenyCache } from '../layers/deny-cache/deny-cache.js';
import { FallbackLayer } from '../layers/fallback/fallback.js';
import type { LocalShare } from '../layers/fallback/local-share.js';
import { PrefetchLayer } from '../layers/prefetch/prefetch.js';
import type { RuleHit } from '../rules/rule-hit.js';

export interface PipelineOptions {
  readonly prefix: string;
  readonly onStoreError: Fallback;
  /** Whether denials are cached in the process. */
  readonly denyCache: boolean;
  readonly local: LocalShare;
  /** Called with each error of the store. */
  readonly failed: (error: unknown, call: Exclude<StoreCall, 'heartbeat'>) => void;
}

/** What decides requests: the store inside of its layers. What several processes share is cached in each. */
export function pipelineOf(store: BaseStore, options: PipelineOptions): Store<RuleHit> {
  const { shared, stopwatch } = store;
  const { prefix, onStoreError, local, failed } = options;
  const timeout = shared?.timeout ?? Infinity;
  const fallback: Layer<RuleHit> = (next) =>
    new FallbackLayer(next, { onStoreError, local, timeout, failed });
  if (!shared) return fallback(store);
  const prefetch: Layer<RuleHit> = (next) => new PrefetchLayer(next, { shared, stopwatch, prefix });
  const denyCache: Layer<RuleHit> = (next) => new DenyCache(next, { shared, stopwatch, prefix });
  return options.denyCache
    ? compose(denyCache, prefetch, fallback)(store)
    : compose(prefetch, fallback)(store);
}

/** The first layer is the outermost. */
function compose(...layers: readonly Layer<RuleHit>[]): Layer<RuleHit> {
  return (store) => layers.reduceRight((next, layer) => layer(next), store);
}
