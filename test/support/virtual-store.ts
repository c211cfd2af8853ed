import { MemoryStore } from '../../lib/index.js';
import type { BaseStore } from '../../lib/store.js';
import { RedisStore } from '../../lib/redis.js';
import { redisUrl } from './redis/shared-redis.js';

const EVERY_STORE = ['memory', 'redis'] as const;
export type StoreKind = (typeof EVERY_STORE)[number];

/** The stores that the specs use. `npm run test:unit` has no Redis. */
export const STORES = EVERY_STORE.filter((kind) => kind === (process.env['STORES'] ?? kind));

/** A clock that advances only on request. It starts on a full minute. */
export class VirtualTime {
  now = 1_700_000_040_000;
  readonly clock = (): number => this.now;

  advance(milliseconds: number): void {
    this.now += milliseconds;
  }
}

/** A store in virtual time. On Redis, use a `uniquePrefix()` in the module. */
export function virtualStore(kind: StoreKind, { clock }: VirtualTime): BaseStore {
  return kind === 'memory'
    ? new MemoryStore({ clock })
    : new RedisStore({ redis: redisUrl(), clock, timeout: 10_000, connectTimeout: 30_000 });
}
