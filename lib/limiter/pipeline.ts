import type { Algorithm } from '../contracts/algorithm.js';
import type { Fallback } from '../contracts/decision.js';
import { entryOf } from '../contracts/entry-of.js';
import { storeFaultOf } from '../contracts/store-fault.js';
import type { Store } from '../contracts/store.js';
import type { SharedStore } from '../contracts/base-store.js';
import { DenyCache } from '../layers/deny-cache/deny-cache.js';
import { FallbackLayer } from '../layers/fallback/fallback.js';
import { Instances } from '../layers/fallback/instances.js';
import { PrefetchLayer } from '../layers/prefetch/prefetch.js';
import { compileRule } from '../rules/compile-rule.js';
import type { CompiledRule, RuleHit } from '../rules/compiled-rule.js';
import type { KeyedRule } from '../rules/keyed-rule.js';
import type { Keys } from '../rules/keys.js';
import type { AnyRule } from '../rules/rule.js';
import type { RateLimitEvents } from './events.js';
import type { EngineOptions } from './rate-limiter.options.js';
import { ServerStates } from './server-state.js';

/** A rule for the trial of the servers at start: those of programs are not known before their first use. */
const TRIAL: AnyRule = { name: 'ready', algorithm: 'gcra', limit: 1000, window: '1s' };

/** A store that processes share inside its layers, with the heartbeats of this process and the reports of the servers. */
export class Pipeline {
  /** The store inside its layers: the deny cache is entered first. */
  readonly store: Store<RuleHit>;
  readonly instances: Instances;
  readonly prefetch: PrefetchLayer;
  /** One rule for each algorithm in use. */
  private readonly samples = new Map<Algorithm, KeyedRule>();
  private readonly ends: readonly ((() => void) | undefined)[];

  /** @param changed called when a server becomes unavailable, or available again */
  constructor(
    options: EngineOptions,
    private readonly shared: SharedStore,
    private readonly keys: Keys,
    events: RateLimitEvents,
    changed: () => void,
  ) {
    const { store, onStoreError = 'local', instances = 1, denyCache = true } = options;
    events.servers = new ServerStates();
    const heartbeat = { instance: keys.instance, application: options.application };
    this.instances = new Instances(shared, keys.shared('instances'), heartbeat, instances, (error) => {
      // While the circuit breaker of its server is open, a failed heartbeat is not reported again.
      if (!events.openCircuits.has(storeFaultOf(error).server)) events.storeFailed(error, 'heartbeat');
    });
    let isWarned = false;
    const fallback = new FallbackLayer(store, {
      onStoreError,
      local: options.fallback,
      instances: () => this.instances.count,
      shared,
      failed: (error, call) => {
        const isHeard = events.storeFailed(error, call);
        if (isHeard || isWarned || storeFaultOf(error).code !== 'CLOSED') return; // Its breaker reports any other.
        isWarned = true;
        warnOf(error, onStoreError);
      },
    });
    const caching = { shared, stopwatch: store.stopwatch, prefix: keys.prefix };
    this.prefetch = new PrefetchLayer(fallback, caching);
    this.store = denyCache ? new DenyCache(this.prefetch, caching) : this.prefetch;
    this.ends = [
      shared.watch((change) => {
        if (!events.storeChanged(change) && change.error !== undefined) warnOf(change.error, onStoreError);
        changed();
      }),
      shared.watchHeartbeats?.({ lostData: (server) => events.dataLost(server) }),
    ];
    this.instances.start();
  }

  /** Adds the algorithms of a rule, and of its trial limit, to the trial of the servers. */
  sample(rule: CompiledRule, keyed: KeyedRule): void {
    for (const { algorithm } of [rule, rule.trial ?? rule]) entryOf(this.samples, algorithm, () => keyed);
  }

  /** Waits until every server has decided once with the algorithms in use, or has failed. */
  async ready(): Promise<void> {
    const trial = compileRule(TRIAL);
    this.sample(trial, this.keys.keyed(trial));
    await this.shared.ready((subject) =>
      [...new Set(this.samples.values())].flatMap((rule) => rule.hits(subject)),
    );
    void this.instances.beat();
  }

  /** Refunds prefetched permits, and stops heartbeats and reports: the store may outlive its limiters. */
  async close(): Promise<void> {
    await this.store.close();
    await this.instances.stop();
    for (const end of this.ends) end?.();
  }
}

/** Emits a process warning for a server that cannot decide. */
function warnOf(error: unknown, onStoreError: Fallback): void {
  const { message } = storeFaultOf(error);
  process.emitWarning(
    `The store cannot decide: ${message}. Until it can, onStoreError: '${onStoreError}' decides. Listeners of 'breaker' or 'storeError' in the limiter's events replace this warning.`,
    { type: 'RateLimitWarning' },
  );
}
