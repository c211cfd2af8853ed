import type { SharedStore } from '../../lib/store.js';

/** Makes a memory store look as if it were shared by several processes, which `heartbeat` counts. */
export function sharedBy(heartbeat: SharedStore['heartbeat']): SharedStore & null {
  const shared: SharedStore = {
    awake: () => performance.now(),
    timeout: 50,
    watch: () => () => undefined,
    follow: () => undefined,
    unfollow: () => undefined,
    isFollowed: () => false,
    heartbeat,
    ready: async () => undefined,
  };
  return shared as never;
}
