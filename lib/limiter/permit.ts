import type { Decision } from '../contracts/decision.js';

/**
 * Permits of a `concurrency` rule, held until they are released.
 *
 * @example
 * await using permit = await limits.hold(reports, user);
 * if (!permit.allowed) throw new RateLimitExceededException(permit.decision);
 */
export class Permit implements AsyncDisposable {
  private released: Promise<void> | undefined;

  constructor(
    /** The decision of `hold`. */
    readonly decision: Decision,
    /** Aborts if the permits are lost: Redis lost them, or their lease ended before it was renewed. */
    readonly signal: AbortSignal,
    private readonly free: () => Promise<void>,
  ) {}

  /** Whether the permits were taken. */
  get allowed(): boolean {
    return this.decision.allowed;
  }

  /** Releases the permits. Later calls have no effect. */
  async release(): Promise<void> {
    this.released ??= this.free();
    await this.released;
  }

  /** Releases the permits at the end of the block of an `await using` declaration. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }
}
