/** The outcomes of the hits that began in one phase of the run; see phase.mjs. Times are in milliseconds. */
export interface PhaseFigures {
  readonly startedAt: number;
  readonly asked: number;
  readonly decided: number;
  readonly redis: number;
  readonly fallback: number;
  readonly cache: number;
  readonly memory: number;
  readonly mostOfAGuest: number;
  readonly longestOwnWait: number;
  readonly tally: { readonly asked: number; readonly admitted: number };
  readonly redisAt: number | null;
  readonly inARow: number;
  readonly wait: { readonly p50: number; readonly p99: number; readonly max: number };
}

/** The events of the breaker, and their times. */
export interface Turn {
  readonly state: 'open' | 'closed';
  readonly at: number;
  /** The kind of the error that opened it. */
  readonly cause?: string;
}

export interface Figures {
  readonly phases: Readonly<Record<string, PhaseFigures>>;
  readonly breaker: readonly Turn[];
  readonly warnings: readonly string[];
}

/** The handles and the heap of the idle process. */
export interface Rest {
  readonly handles: readonly string[];
  readonly heap: number;
}

/** How an application shut down, and the breaker events during the shutdown. */
export interface Shutdown extends Figures {
  /** The hits that were in flight. */
  readonly underWay: number;
  readonly settledMs: number;
  readonly code: number;
}
