import type { Ground, Site } from './site.js';

/** What an application may expect during a fault. */
export interface Expected {
  readonly name: string;
  /**
   * What decides during the fault: `'fallback'` all hits; `'redis'` most of them, without delaying them; `'only
   * redis'` all of them; or `'either'`.
   */
  readonly deciding: 'fallback' | 'redis' | 'only redis' | 'either';
  /** Whether Redis still decides some hits until the breaker opens. */
  readonly decidesSome?: boolean;
  /** How often the breaker opens: once, or any number of times. It closes when the fault is over. */
  readonly breaker: 'once' | 'any';
  /** Whether the fault starts before the applications, so that none of them counts the others. */
  readonly isThereAtStart?: boolean;
  /** Whether the server loses its earlier charges. */
  readonly forgets?: boolean;
  /** How long before the fault a charge may have been made that is not replicated yet, in milliseconds. */
  readonly losesMs?: number;
  /** The largest step of the clock in milliseconds, and how often it steps forward. */
  readonly clock?: { readonly ahead: number; readonly steps: number };
}

/** A fault, and how to cause it on a site. */
export interface Fault<At> extends Expected {
  /** Causes the fault. Resolves when it is in effect. */
  make(site: At): Promise<unknown>;
  /** Repeats the fault if it consists of repeated events. Resolves when there were enough of them. */
  goOn?(site: At): Promise<unknown>;
  /** Ends the fault. Resolves when the server would reply. */
  heal(site: At): Promise<unknown>;
}

/** A fault of one server, or of the connection to it. */
export type ServerFault = Fault<Site> & Ground;
