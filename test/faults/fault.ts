import type { Ground, Place } from './site.js';

/** Something that goes wrong with Redis, and what an application may expect of it. */
export interface Fault<At extends Place = Place> extends Ground {
  readonly name: string;
  /** Makes it. Resolves once it is there. */
  make(site: At): Promise<unknown>;
  /** Goes on making it, where it is not a state but many blows. Resolves when that was enough. */
  goOn?(site: At): Promise<unknown>;
  /** Ends it. Resolves once the server would answer. */
  heal(site: At): Promise<unknown>;
  /**
   * Who decides while it is on: `'fallback'` every hit, `'redis'` most of them, which it does not hold up,
   * `'only redis'` all of them, or `'either'`.
   */
  readonly deciding: 'fallback' | 'redis' | 'only redis' | 'either';
  /** What the breaker does: opens once and closes when the fault is over, or as often as it has reason to. */
  readonly breaker: 'once' | 'any';
  /** Whether the server loses what it has counted before. */
  readonly forgets?: boolean;
}
