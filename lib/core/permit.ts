import type { Decision } from '../contracts/decision.js';

/** Permits that are held until they are released. */
export class Permit implements AsyncDisposable {
  private released: Promise<void> | undefined;

  constructor(
    /** The answer to the request to enter. */
    readonly decision: Decision,
    /**
     * Aborts when a renewal finds that the lease has ended, since the store had forgotten it or could not be
     * reached for as long: others may be in by now.
     */
    readonly signal: AbortSignal,
    private readonly free: () => Promise<void>,
  ) {}

  /** Whether the permits are held; if not, there is nothing to release. */
  get allowed(): boolean {
    return this.decision.allowed;
  }

  /** Gives the permits back, once however often it is called, and never another holder's. */
  async release(): Promise<void> {
    this.released ??= this.free();
    await this.released;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }
}
