import type { SharedStore } from '../../contracts/store.js';
import type { Warnings } from '../warnings.js';

/** Warns when Redis has lost data, and while another application uses the same counters. */
export function warnOfHeartbeats(
  store: Pick<SharedStore, 'watchHeartbeats'> | null,
  { application, prefix }: { readonly application: string | undefined; readonly prefix: string },
  warnings: Warnings,
): void {
  store?.watchHeartbeats?.({
    lostData: (server) => {
      warnings.withdraw('RL_DATA_LOST', server); // Each loss is logged.
      warnings.warn('RL_DATA_LOST', lostDataOf(server), server);
    },
    foundApplications: (names) => {
      const others = names.filter((name) => application !== undefined && name !== application).sort();
      if (others.length === 0) warnings.withdraw('RL_PREFIX_SHARED');
      else warnings.warn('RL_PREFIX_SHARED', sharedPrefixOf(prefix, [application!, ...others]));
    },
  });
}

function lostDataOf(server: string): string {
  const redis = server === '' ? 'Redis' : `Redis at ${server}`;
  return (
    `${redis} has lost data that it had confirmed less than 15 s before: it was flushed or swapped, has evicted keys, or ` +
    'was restarted or replaced without its last writes. Counters, blocks and held permits start again, so that a subject ' +
    'may get up to twice its limit.'
  );
}

function sharedPrefixOf(prefix: string, names: readonly string[]): string {
  const list = names.map((name) => `"${name}"`).join(' and ');
  return (
    `The applications ${list} use the prefix "${prefix}" in one Redis, so they share counters, blocks and the number of ` +
    'processes: requests to one are counted by the others. Give each its own `prefix`; if they share limits on purpose, ' +
    'the same `application`.'
  );
}
