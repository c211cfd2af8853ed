/** Thrown when Redis has not answered within the deadline. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';

  constructor(timeout: number) {
    super(`no answer within ${timeout} ms`);
  }
}

interface Call {
  readonly until: number;
  /** Gives it up; absent once it is answered. */
  expire: (() => void) | undefined;
}

/** Gives up what takes longer than a time which is the same for all, by one timer. */
export class Deadline {
  /** In the order in which they are given up; those before `first` are over. */
  private calls: Call[] = [];
  private first = 0;
  private timer: NodeJS.Timeout | undefined;

  /** @param timeout in milliseconds */
  constructor(private readonly timeout: number) {}

  /**
   * The promise's result, or an error when it has not come in time. What comes later is dropped.
   *
   * @throws DeadlineError
   */
  within<Result>(promise: Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      const expire = (): void => reject(new DeadlineError(this.timeout));
      const call: Call = { until: performance.now() + this.timeout, expire };
      this.calls.push(call);
      if (!this.timer) this.wait(this.timeout);
      promise.then(
        (result) => {
          this.end(call);
          resolve(result);
        },
        (error: unknown) => {
          this.end(call);
          reject(error instanceof Error ? error : new Error(String(error)));
        },
      );
    });
  }

  /** Waits for nothing any more. */
  close(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  /**
   * An answer that has arrived while the event loop was busy still counts: before giving up, the loop gets
   * one turn to read it. The timer keeps no process alive, as the connection does while it is asked.
   */
  private wait(milliseconds: number): void {
    const look = (): void => {
      if (this.first < this.calls.length) setImmediate(() => this.expire());
      else this.timer = undefined;
    };
    this.timer = setTimeout(look, Math.ceil(milliseconds)).unref();
  }

  private expire(): void {
    const now = performance.now();
    for (const call of this.calls.slice(this.first)) {
      if (call.until > now) break;
      call.expire?.();
      this.end(call);
    }
    this.timer = undefined;
    const next = this.calls[this.first];
    if (next) this.wait(next.until - now);
  }

  private end(call: Call): void {
    call.expire = undefined;
    const { calls } = this;
    while (this.first < calls.length && !calls[this.first]!.expire) this.first += 1;
    if (this.first < calls.length) return;
    this.calls = [];
    this.first = 0;
  }
}
