import type { SharedStore } from '../../contracts/store.js';
import type { Warnings } from '../warnings.js';

/** Milliseconds from which the clocks of Redis and of the process differ too much. */
const MOST_MS = 60_000;

/** Warns while the clock of Redis, by which limits are decided, differs by more than a minute from that of the process. */
export function warnOfClocks(store: Pick<SharedStore, 'watchClock'> | null, warnings: Warnings): void {
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
