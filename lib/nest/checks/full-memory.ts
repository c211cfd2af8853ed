import type { MemoryStore } from '../../stores/memory/memory.store.js';
import type { Warnings } from '../warnings.js';

/** What a store in memory counts: all requests, or those that Redis cannot decide. */
type CountedInMemory = 'all' | 'fallback';

const FIX: Record<CountedInMemory, string> = {
  all: 'Raise maxKeys, or count in Redis',
  fallback: 'Raise maxKeys, or restore Redis: the memory is its fallback',
};

/** Warns when a store in memory is full and forgets counters, at most once an hour. */
export function warnOfFullMemory(store: MemoryStore, counted: CountedInMemory, warnings: Warnings): void {
  store.watchFull((maxKeys) => {
    warnings.withdraw('RL_MEMORY_FULL', counted);
    const keys = maxKeys.toLocaleString('en');
    warnings.warn(
      'RL_MEMORY_FULL',
      `The memory holds maxKeys (${keys}) counters, and the least recently used are deleted before they end: their subjects start with a full limit. ${FIX[counted]}.`,
      counted,
    );
  });
}
