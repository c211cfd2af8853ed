const TICKS_PER_TIMEOUT = 10;

const LONGEST_TICK_MS = 1000;

/** How late an undelayed timer may be. */
const TIMER_LEEWAY_MS = 1;

/** Finished calls that are kept besides as many as are pending, since each removal copies the rest. */
const MOST_FINISHED = 16;

/** Thrown when Redis has not replied within the deadline. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';

  constructor(timeout: number) {
    super(`no reply within ${Math.round(timeout)} ms`);
  }
}

/**
 * Measures the time in which the event loop of this process was running. A late tick shows that it was not: the process
 * was busy or suspended, and read no replies. Such a gap counts as one tick.
 */
export class AwakeTime {
  private passed = 0;
  private tickedAt = performance.now();

  /** @param tickMs the interval at which `tick` is called */
  constructor(private readonly tickMs: number) {}

  /** Milliseconds since an arbitrary instant. */
  get now(): number {
    return this.passed + Math.min(performance.now() - this.tickedAt, this.tickMs + TIMER_LEEWAY_MS);
  }

  tick(): void {
    this.passed = this.now;
    this.tickedAt = performance.now();
  }
}

interface Call {
  readonly until: number;
  /** Rejects the call; absent when it is finished. */
  expire: (() => void) | undefined;
}

/**
 * Rejects calls that take longer than a timeout, with one timer for all of them.
 *
 * Time in which this process was not running does not count, since it could not read replies: see `AwakeTime`.
 */
export class Deadline {
  /** In the order of their deadlines, with finished ones among them. No `Set`, see docs/adr/0111-no-literals-for-what-waits.md. */
  private calls = new Array<Call>();
  private pending = 0;
  private timer: NodeJS.Timeout | undefined;
  private readonly tickMs: number;
  private readonly time: AwakeTime;

  /** @param timeout in milliseconds */
  constructor(readonly timeout: number) {
    this.tickMs = Math.min(Math.max(1, timeout / TICKS_PER_TIMEOUT), LONGEST_TICK_MS);
    this.time = new AwakeTime(this.tickMs);
  }

  /**
   * Returns the result of a promise, or rejects after the timeout. A later result is ignored.
   *
   * @param expired called after the timeout
   * @throws DeadlineError if the promise is not settled in time
   */
  within<Result>(promise: Promise<Result>, expired?: () => void): Promise<Result> {
    return new Promise((resolve, reject) => {
      if (!this.timer) this.time.tick(); // There was no tick since the last call.
      const expire = (): void => {
        reject(new DeadlineError(this.timeout));
        expired?.();
      };
      const call: Call = { until: this.time.now + this.timeout, expire };
      this.calls.push(call);
      this.pending += 1;
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

  /** Milliseconds since an arbitrary instant, as counted while calls are pending. */
  get now(): number {
    return this.time.now;
  }

  get isWaiting(): boolean {
    return this.pending > 0;
  }

  /** Stops the timer. */
  close(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private wait(milliseconds: number): void {
    // eslint-disable-next-line no-restricted-globals -- at most a second, for each call that finds no timer
    this.timer = setTimeout(this.look, Math.ceil(Math.min(milliseconds, this.tickMs))).unref();
  }

  /** Checks the deadlines. Before a call is rejected, the event loop gets one turn to read a reply that has arrived. */
  private readonly look = (): void => {
    this.time.tick();
    const { now } = this.time;
    const next = this.calls.find(isPending);
    if (!next) this.timer = undefined;
    else if (next.until > now) this.wait(next.until - now);
    else setImmediate(() => this.expire(now));
  };

  private expire(now: number): void {
    for (const call of this.calls) {
      if (call.until > now) break;
      const { expire } = call;
      this.end(call);
      expire?.();
    }
    this.timer = undefined;
    const next = this.calls.find(isPending);
    if (next) this.wait(next.until - now);
  }

  private end(call: Call): void {
    if (!call.expire) return;
    call.expire = undefined;
    this.pending -= 1;
    if (this.calls.length > 2 * this.pending + MOST_FINISHED) this.calls = this.calls.filter(isPending);
  }
}

function isPending({ expire }: Call): boolean {
  return expire !== undefined;
}

/** Error replies of a server that has executed nothing, but may do so later. */
const NOT_NOW =
  /^(Too many Cluster redirections\b.*|TRYAGAIN|MOVED|ASK|NOSCRIPT|ERR Function not found|LOADING|BUSY|READONLY|OOM|MISCONF|NOAUTH|MASTERDOWN|NOREPLICAS|CLUSTERDOWN)\b/;

/** End of the message of ioredis about a command that it has not written. */
const NOT_WRITTEN = ' enableOfflineQueue options is false';

/** A user without the right to send a command or to use a key: unlike an error within a script, it precedes all writes. */
const NOT_PERMITTED = /^NOPERM\b(?!.*(user_function|user_script|\bscript\b))/;

/** Whether a server has executed nothing, and may do so if the call is sent again, because of its present state. */
export function isTemporary(error: unknown): boolean {
  if (!(error instanceof Error) || error.cause instanceof DeadlineError) return false;
  return NOT_NOW.test(error.message) || error.message.endsWith(NOT_WRITTEN);
}

/** Whether a call has certainly not been executed, so that it can be sent again: also later, when a right is granted. */
export function wasNotExecuted(error: unknown): boolean {
  return isTemporary(error) || (error instanceof Error && NOT_PERMITTED.test(error.message));
}

/** Whether ioredis has rejected a call because a connection of a Cluster has ended or is not established yet. */
export function isClosed(error: unknown): error is Error {
  return error instanceof Error && error.message === 'Connection is closed.';
}

/** Whether an error is that of a command without a connection, which does not contain the reason. */
export function lacksConnection({ name, message }: Error): boolean {
  return name === 'MaxRetriesPerRequestError' || message.endsWith(NOT_WRITTEN);
}
