import type { Ground, Site } from './site.js';

/** What an application may expect of something that goes wrong with Redis. */
export interface Expected {
  readonly name: string;
  /**
   * Who decides while it is on: `'fallback'` every hit, `'redis'` most of them, which it does not hold up,
   * `'only redis'` all of them, or `'either'`.
   */
  readonly deciding: 'fallback' | 'redis' | 'only redis' | 'either';
  /** What the breaker does: opens once and closes when the fault is over, or as often as it has reason to. */
  readonly breaker: 'once' | 'any';
  /** Whether it is there before the applications start, so that none knows of the others. */
  readonly isThereAtStart?: boolean;
  /** Whether the server loses what it has counted before. */
  readonly forgets?: boolean;
  /** How many milliseconds before the fault a charge may have been made that the next master has not been sent. */
  readonly losesMs?: number;
  /** How far the clock steps at most, in milliseconds, and how often forward to where it never was. */
  readonly clock?: { readonly ahead: number; readonly steps: number };
}

/** Something that goes wrong with Redis, and how to make it at a place. */
export interface Fault<At> extends Expected {
  /** Makes it. Resolves once it is there. */
  make(site: At): Promise<unknown>;
  /** Goes on making it, where it is not a state but many blows. Resolves when that was enough. */
  goOn?(site: At): Promise<unknown>;
  /** Ends it. Resolves once the server would answer. */
  heal(site: At): Promise<unknown>;
}

/** A fault of one server, or of the way to it. */
export type ServerFault = Fault<Site> & Ground;
