import { Logger } from '@nestjs/common';
import type { SharedStore, StoreChange } from '../../contracts/base-store.js';
import type { StoreCall, StoreFault } from '../../contracts/store-fault.js';
import type { RateLimiter } from '../../limiter/rate-limiter.js';
import { entryOf } from '../../contracts/entry-of.js';
import { after, type Timer } from '../../contracts/timer.js';
import { loadAlgorithms } from '../../rules/rule-fields.js';
import { faultOf } from '../../stores/redis/link/fault.js';
import { FUNCTIONS_OFF } from '../../stores/redis/redis.store.options.js';
import type { RedisStore } from '../../stores/redis/redis.store.js';
import type { RateLimitModuleOptions } from '../rate-limit.options.js';
import type { RateLimitService } from '../rate-limit.service.js';
import { describeFallbacks } from '../rules/rule-fallbacks.js';
import type { Warnings } from '../warnings.js';

const logger = new Logger('RateLimit');

const FAILED: Record<StoreCall, string> = {
  decision: 'decide a request',
  refund: 'refund or renew permits',
  heartbeat: 'count the processes that share the limits',
};

const UNCOUNTED = 'the last number applies, at least `instances`, which is 1 unless you set it; ';

const FLAPS = 'it decides and fails in turn: changes are logged again when it has decided for 10 seconds';

const STABLE_MS = 10_000;

const NO_TIMER: Timer = { stop: () => undefined };

/** Logs what happens to a store that processes share. Its trial at start needs one more algorithm. */
export async function watch(
  store: SharedStore | null,
  limiter: RateLimitService,
  options: RateLimitModuleOptions & Parameters<typeof warnOfHeartbeats>[1],
  warnings: Warnings,
): Promise<void> {
  warnOfClocks(store, warnings);
  warnOfHeartbeats(store, options, warnings);
  logStore(store, limiter, () => describeFallbacks(limiter.table.known, options), warnings);
  await loadAlgorithms(['gcra']);
}

/** A limiter whose store is logged. */
type LoggedLimiter = Pick<RateLimiter, 'events'> & { readonly engine: Pick<RateLimiter['engine'], 'ending'> };

/**
 * Logs one line for each change of a server's state and for each new kind of cause while it cannot decide, and
 * one for each kind of error that changes no state.
 *
 * @param meanwhile what requests get while the server cannot decide
 */
export function logStore(
  store: Pick<SharedStore, 'watch'> | null,
  { events, engine }: LoggedLimiter,
  meanwhile: () => string,
  warnings: Warnings,
): void {
  const reported = new Set<string>();
  /** The objects of the warnings since a server stopped deciding. */
  const outages = new Map<string, Set<string>>();
  const unstable = new Map<string, Timer>();
  store?.watch(({ server, error }: StoreChange) => {
    const fault = error === undefined ? undefined : faultOf(error, server);
    const isFlapping = events.isFlapping(server);
    if (isFlapping) noteFlapping(server, fault);
    else if (!fault) noteRecovery(server);
    if (fault && (!isFlapping || needsOperator(fault))) noteOutage(server, fault);
  });
  const noteRecovery = (server: string): void => {
    const reasons = [...(outages.get(server) ?? [])];
    outages.delete(server);
    const logged = reasons.filter((about) => warnings.withdraw('RL_REDIS_UNAVAILABLE', about));
    if (logged.length === 0) return;
    // In a Cluster, another server may have taken over its keys.
    logger.log(server === '' ? 'Redis decides again.' : `Redis decides again for the keys of ${server}.`);
  };
  const noteOutage = (server: string, fault: StoreFault): void => {
    unstable.get(server)?.stop();
    unstable.delete(server);
    reported.add(kindOf(fault, 'decision'));
    warn(server, outageKindOf(fault), fault.message, needsOperator(fault) ? 'error' : 'warn');
  };
  const warn = (server: string, kind: string, reason: string, level: 'warn' | 'error'): void => {
    const about = `${server} ${kind}`;
    entryOf(outages, server, () => new Set()).add(about);
    const message = `Redis could not decide (${reason}); until it does, ${meanwhile()}.`;
    warnings.warn('RL_REDIS_UNAVAILABLE', message, about, level);
  };
  /** One line for a flapping breaker until the server has decided for a while. */
  const noteFlapping = (server: string, fault: StoreFault | undefined): void => {
    const known = unstable.get(server);
    known?.stop();
    if (!known && fault) warn(server, FLAPS, `${fault.message}; ${FLAPS}`, 'warn');
    const recover = (): void => {
      unstable.delete(server);
      if (!engine.ending.signal.aborted) noteRecovery(server); // Else it is closed.
    };
    unstable.set(server, fault ? NO_TIMER : after(STABLE_MS, recover));
  };
  events.on('storeError', ({ error, call }) => {
    if (events.openCircuits.has(error.server)) return;
    const fault = faultOf(error, '');
    const kind = kindOf(fault, call);
    if (reported.has(kind)) return;
    reported.add(kind);
    const consequence = call === 'heartbeat' ? UNCOUNTED : '';
    const message = `Redis could not ${FAILED[call]} (${fault.message}); ${consequence}this kind of error is logged once.`;
    warnings.warn('RL_REDIS_ERROR', message, kind);
  });
}

/**
 * Logs the form in which the servers run the Lua (functions or scripts), and each change of it. Warns when changes by
 * other processes are not reported, such as when a server does not permit to publish: limits are enforced all the same.
 */
export function logServers(store: RedisStore, warnings: Warnings): void {
  const reported = new Set<string>();
  store.watchFunctionSupport(({ server, library, reason }) => {
    const place = server === '' || reason === FUNCTIONS_OFF ? '' : ` on ${server}`;
    const line = library
      ? `Redis runs the limiter as functions (library ${library}).`
      : `Redis runs the limiter as scripts${place} (${reason}).`;
    if (reported.has(line)) return;
    reported.add(line);
    logger.log(line);
  });
  store.watchRefusals(({ message }) =>
    warnings.warn(
      'RL_CHANGES_UNREPORTED',
      `${message}. Until then, every request of a denied subject reaches Redis, no permits are prefetched, and requests that wait for permits ask once a second`,
    ),
  );
}

function kindOf({ kind, code }: StoreFault, call: StoreCall): string {
  return `${call} ${kind} ${code}`;
}

/** An unavailable server causes many different errors, which are one kind; each missing permission is its own kind. */
function outageKindOf(fault: StoreFault): string {
  if (needsOperator(fault)) return fault.message;
  return fault.kind === 'timeout' ? 'connection' : fault.kind;
}

/** Whether only an operator can fix the cause. */
function needsOperator({ kind }: StoreFault): boolean {
  return kind === 'access' || kind === 'topology';
}

function nameOf(server: string): string {
  return server === '' ? 'Redis' : `Redis at ${server}`;
}

/** Milliseconds from which the clocks of Redis and of the process differ too much. */
const MOST_MS = 60_000;

/** Warns while the clock of Redis, by which limits are decided, differs by more than a minute from that of the process. */
function warnOfClocks(store: Pick<SharedStore, 'watchClock'> | null, warnings: Warnings): void {
  store?.watchClock?.((aheadMs) => {
    if (Math.abs(aheadMs) <= MOST_MS) {
      warnings.withdraw('RL_CLOCKS_DIFFER');
      return;
    }
    const seconds = Math.round(Math.abs(aheadMs) / 1000);
    warnings.warn(
      'RL_CLOCKS_DIFFER',
      `The clock of Redis is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} the clock of this process. Limits follow the clock of Redis: when it is corrected, windows in use are moved and may last longer. Synchronize both clocks (NTP).`,
    );
  });
}

/** Warns when Redis has lost data, and while another application uses the same counters. */
export function warnOfHeartbeats(
  store: Pick<SharedStore, 'watchHeartbeats'> | null,
  { application, prefix }: { readonly application: string | undefined; readonly prefix: string },
  warnings: Warnings,
): void {
  store?.watchHeartbeats?.({
    lostData: (server) => {
      warnings.withdraw('RL_DATA_LOST', server); // Each loss is logged.
      warnings.warn(
        'RL_DATA_LOST',
        `${nameOf(server)} has lost data that it had confirmed: it was flushed or swapped, has evicted keys, or ` +
          'was restarted or replaced without its last writes. Counters, blocks and held permits start again, so that a ' +
          'subject may get up to twice its limit.',
        server,
      );
    },
    foundApplications: (names) => {
      const others = names.filter((name) => application !== undefined && name !== application).sort();
      if (others.length === 0) warnings.withdraw('RL_PREFIX_SHARED');
      else warnings.warn('RL_PREFIX_SHARED', sharedPrefixOf(prefix, [application!, ...others]));
    },
  });
}

function sharedPrefixOf(prefix: string, names: readonly string[]): string {
  const list = names.map((name) => `"${name}"`).join(' and ');
  return (
    `The applications ${list} use the prefix "${prefix}" in one Redis, so they share counters, blocks and the number of ` +
    'processes: requests to one are counted by the others. Give each its own `prefix`; if they share limits on purpose, ' +
    'the same `application`.'
  );
}
