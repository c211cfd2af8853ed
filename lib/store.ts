// nestjs-redis-rate-limit/store
// The interface of a store, for those who write one. Not stable: any version may change it.
export type { BaseStore } from './contracts/base-store.js';
export type {
  Store,
  Hit,
  Counter,
  Block,
  DecideOptions,
  PrefetchRequest,
  HitResult,
  LocalLimit,
  Adjustment,
  Once,
} from './contracts/store.js';
export type {
  SharedStore,
  StoreChange,
  Follower,
  HeartbeatWatcher,
  GrantFollower,
  Heartbeat,
} from './contracts/base-store.js';
export type { MaybePromise } from './contracts/thenable.js';
export type {
  Algorithm,
  Parameters,
  MaxWait,
  Receipt,
  Result,
  SharePart,
  Step,
  Allowed,
  Denied,
  Next,
} from './contracts/algorithm.js';
export { storeContract, type StoreContract } from './testing/store-contract.js';
