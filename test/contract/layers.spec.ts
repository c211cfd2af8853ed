import type { Clock } from '../../lib/contracts/clock.js';
import type { CachingOptions, Follower, SharedStore } from '../../lib/contracts/base-store.js';
import type { Store } from '../../lib/contracts/store.js';
import { MemoryStore } from '../../lib/index.js';
import { DenyCache } from '../../lib/layers/deny-cache/deny-cache.js';
import { FallbackLayer } from '../../lib/layers/fallback/fallback.js';
import { PrefetchLayer } from '../../lib/layers/prefetch/prefetch.js';
import type { RuleHit } from '../../lib/rules/compiled-rule.js';
import type { BaseStore } from '../../lib/store.js';
import { storeContract } from './store-contract.js';

type Wrap = (next: Store, options: CachingOptions) => Store<RuleHit>;

/** Returns a store in memory with layers around it, which follows the changes of counters as those of a shared store. */
function around(clock: Clock, wrap: Wrap): BaseStore {
  const store = new MemoryStore({ clock });
  const followers = new Set<Follower>();
  const report = (key: string, isReset: boolean): void => {
    for (const follower of followers) follower.changed(key, isReset);
  };
  const next: Store = {
    decide: (...args) => store.decide(...args),
    async adjust(adjustments) {
      const adjusted = await store.adjust(adjustments);
      for (const { key } of adjustments) report(key, false);
      return adjusted;
    },
    async block(counter, duration) {
      const wasBlocked = await store.block(counter, duration);
      report(counter.key, false);
      return wasBlocked;
    },
    async reset(counters) {
      const hadState = await store.reset(counters);
      for (const { key } of counters) report(key, true);
      return hadState;
    },
    close: () => store.close(),
  };
  const shared = {
    timeout: 50,
    awake: clock,
    follow(_prefix: string, follower: Follower): void {
      followers.add(follower);
      follower.trusted(true, true);
    },
    unfollow: (_prefix: string, follower: Follower) => void followers.delete(follower),
    isFollowed: () => true,
  } as Partial<SharedStore> as SharedStore;
  const layer = wrap(next, { shared, stopwatch: clock, prefix: '' });
  const { source, stopwatch } = store;
  return {
    ...{ source, clock, stopwatch, shared: null },
    followGrants: (...args) => store.followGrants(...args),
    decide: (hits, options) => layer.decide(hits as readonly RuleHit[], options),
    adjust: (...args) => layer.adjust(...args),
    block: (...args) => layer.block(...args),
    reset: (...args) => layer.reset(...args),
    close: () => layer.close(),
  };
}

storeContract('memory inside all layers', (clock) =>
  around(clock, (next, options) => {
    const local = new MemoryStore({ clock });
    const { shared } = options;
    const failed = (): void => undefined;
    const fallback = new FallbackLayer(next, {
      onStoreError: 'local',
      local,
      instances: () => 1,
      shared,
      failed,
    });
    return new DenyCache(new PrefetchLayer(fallback, options), options);
  }),
);
