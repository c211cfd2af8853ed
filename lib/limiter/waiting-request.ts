import type { HitResult, Store } from '../contracts/store.js';
import { sleep } from '../contracts/timer.js';
import type { RuleHit } from '../rules/compiled-rule.js';

/** Hits with their results. */
export interface Decided {
  readonly hits: readonly RuleHit[];
  readonly results: readonly HitResult[];
}

/** The state of the waiting room when a request is decided. */
export interface Turn {
  /** When its longest wait ends, by `performance.now()`; 0 if it no longer waits. */
  readonly until: number;
  /** The first request of its line. */
  readonly first: WaitingRequest;
  /** Whether the store reports turns. */
  readonly isTrusted: boolean;
}

/** A reason that costs less than an error. */
const WOKEN = 'woken';

/** A request that waits for permits: it pauses, and is decided again after a while, or when it is woken. */
export abstract class WaitingRequest implements Decided {
  results: readonly HitResult[] = [];
  /** When its permits are available, by `performance.now()`; 0 if that is unknown. */
  nextAt = 0;
  /** Whether it is decided again because of a check, and its turn was not reported since. */
  isChecked = false;
  /** Ends its pause; absent if it does not pause and was not woken. */
  private alarm: AbortController | undefined;

  constructor(
    protected readonly store: Store<RuleHit>,
    public hits: readonly RuleHit[],
  ) {}

  /** The keys of the counters in whose lines it waits. */
  abstract get keys(): readonly string[];

  /** The names of its leases: empty if it waits for permits of a window. */
  abstract get leases(): readonly string[];

  /** Decides it. Returns after how many milliseconds it is decided again; `undefined` if the results are final. */
  abstract decide(turn: Turn): Promise<number | undefined>;

  /** Gives up what it holds and its places in queues. What it has been charged stays charged. */
  abstract leave(): Promise<void>;

  /** Ends its pause, or the next one if it does not pause at the moment. */
  readonly wake = (): void => (this.alarm ??= new AbortController()).abort(WOKEN);

  async pause(milliseconds: number): Promise<void> {
    const { signal } = (this.alarm ??= new AbortController());
    await sleep(Math.max(1, milliseconds), signal).catch(() => undefined);
    this.alarm = undefined;
  }
}
