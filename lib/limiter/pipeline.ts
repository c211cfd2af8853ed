import type { Fallback } from '../contracts/decision.js';
import type { StoreCall } from '../contracts/store-fault.js';
import type { Layer, Store } from '../contracts/store.js';
import type { BaseStore } from '../contracts/base-store.js';
import { DenyCache } from '../layers/deny-cache/deny-cache.js';
import { FallbackLayer } from '../layers/fallback/fallback.js';
import type { Instances } from '../layers/fallback/instances.js';
import { LocalLimits } from '../layers/fallback/local-limits.js';
import { PrefetchLayer } from '../layers/prefetch/prefetch.js';
import type { RuleHit } from '../rules/compiled-rule.js';

export interface PipelineOptions {
  readonly prefix: string;
  readonly onStoreError: Fallback;
  /** Whether denials are cached in the process. */
  readonly denyCache: boolean;
  /** Creates the store of `onStoreError: 'local'`. */
  readonly openFallback: () => BaseStore;
  readonly instances: Instances;
  /** Registers a listener that is called when rules have changed. */
  readonly onRulesChanged: (listener: () => void) => void;
  /** Called with each error of the store. */
  readonly failed: (error: unknown, call: Exclude<StoreCall, 'heartbeat'>) => void;
}

/** Returns a shared store inside its layers. */
export function pipelineOf(store: BaseStore, options: PipelineOptions): Store<RuleHit> {
  const { stopwatch } = store;
  const shared = store.shared!;
  const { prefix, onStoreError, openFallback, instances, failed, onRulesChanged } = options;
  const { timeout } = shared;
  const local = new LocalLimits(openFallback, () => instances.count);
  const fallback: Layer<RuleHit> = (next) =>
    new FallbackLayer(next, { onStoreError, local, timeout, failed });
  const prefetch: Layer<RuleHit> = (next) => {
    const layer = new PrefetchLayer(next, { shared, stopwatch, prefix });
    onRulesChanged(() => layer.giveBack());
    return layer;
  };
  const denyCache: Layer<RuleHit> = (next) => new DenyCache(next, { shared, stopwatch, prefix });
  return options.denyCache
    ? compose(denyCache, prefetch, fallback)(store)
    : compose(prefetch, fallback)(store);
}

/** Composes layers into one; the first is the outermost. */
function compose(...layers: readonly Layer<RuleHit>[]): Layer<RuleHit> {
  return (store) => layers.reduceRight((next, layer) => layer(next), store);
}
