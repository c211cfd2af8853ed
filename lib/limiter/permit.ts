import type { Decision } from '../contracts/decision.js';

declare global {
  // As @types/node and TypeScript's own library declare it: projects with older ones have neither.
  interface SymbolConstructor {
    readonly asyncDispose: unique symbol;
  }
}

/** What began in one turn of the event loop: what to report of each permit and reservation that has not ended. */
interface Turn {
  readonly open: Set<() => void>;
}

let turn: Turn | undefined;

const garbage = new FinalizationRegistry<Turn['open']>((open) => open.forEach((report) => report()));

/**
 * Reports a permit or a reservation that is garbage before it has ended, as soon as all others of its turn of the event loop
 * are garbage as well: a registration of its own would cost more than its decision.
 *
 * @param report must not refer to it
 * @returns what it has to keep, and to call at its end
 */
export function reportIfDropped(report: () => void): () => void {
  if (!turn) {
    turn = { open: new Set() };
    garbage.register(turn, turn.open);
    setImmediate(() => (turn = undefined));
  }
  const own = turn;
  own.open.add(report);
  return () => own.open.delete(report);
}

/**
 * Permits of a `concurrency` rule, held until they are released.
 *
 * @example
 * await using permit = await limits.hold(reports, user);
 * if (!permit.allowed) throw new RateLimitExceededException(permit.decision);
 */
export class Permit implements AsyncDisposable {
  private released: Promise<boolean> | undefined;
  private ended: (() => void) | undefined;

  /** @internal */
  constructor(
    /** The decision of `hold`. */
    readonly decision: Decision,
    /** Aborts if the permits are lost: Redis lost them, or their lease ended before it was renewed. */
    readonly signal: AbortSignal,
    private readonly free: () => Promise<boolean>,
  ) {}

  /** Whether the permits were taken. */
  get allowed(): boolean {
    return this.decision.allowed;
  }

  /**
   * Releases the permits. Later calls have no effect, and return the same.
   *
   * @returns whether the permits were still held: `false` if their lease had ended, so that others may have worked at the
   *   same time, or if they were denied. While Redis cannot be reached, `true` unless `signal` has aborted.
   */
  release(): Promise<boolean> {
    this.ended?.();
    return (this.released ??= this.free());
  }

  /**
   * Reports the permits if nothing can release them any more.
   *
   * @internal
   */
  watch(warn: (message: string) => void): this {
    const { rule } = this.decision;
    const message =
      `A permit of rule "${rule}" was dropped without a release, so it stays held until this process ends. ` +
      'Use `await using`, or `finally`.';
    if (this.allowed) this.ended = reportIfDropped(() => warn(message));
    return this;
  }

  /** Releases the permits at the end of the block of an `await using` declaration. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }
}
