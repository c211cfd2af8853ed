import type { SharedStore } from '../../lib/index.js';

/** Makes a store in memory look as if other processes used it: they are counted by `heartbeat`. */
export function sharedBy(heartbeat: SharedStore['heartbeat']): SharedStore & null {
  const shared: SharedStore = {
    timeout: 50,
    watch: () => undefined,
    follow: () => undefined,
    unfollow: () => undefined,
    isFollowed: () => false,
    heartbeat,
    ready: async () => undefined,
  };
  return shared as never;
}
