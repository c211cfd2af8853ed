import { after, type Timer } from '../../../contracts/timer.js';

/** Called with an error when a circuit breaker opens or its cause changes, and without one when it closes. */
type CircuitListener = (error?: unknown) => void;

/** Checks whether a server can decide; rejects if it cannot. */
export type Probe = () => Promise<unknown>;

const FAILURES_IN_A_ROW = 3;
const KEYS_IN_A_ROW = 3;
const FIRST_PROBE_MS = 100;
const LATEST_PROBE_MS = 2000;
/** A circuit breaker that opens again sooner belongs to a server that replies only at times. */
const STABLE_MS = 10_000;
const MOST_ANSWERS = 8;

/**
 * The circuit breaker of a server: while it is open, no request waits for the server.
 *
 * It opens after three consecutive failures; immediately if another attempt would be pointless; and after failures on
 * three different keys without a success in between, if each failure may concern its key only. While open, it probes the
 * server in the background, with exponential backoff and jitter, and closes when a probe succeeds. Its cause is the error
 * of the last probe, since a server that recovers may fail for another reason.
 *
 * If it opens again within ten seconds, the backoff continues, and it closes only after twice as many successful probes
 * in a row, up to eight: a server that replies around the deadline would otherwise open and close it many times a
 * minute.
 */
export class Circuit {
  /** Why it is open; absent while it is closed. */
  cause: unknown;
  /** Whether a call has failed since the last success. */
  hasFailed = false;
  private failures = 0;
  /** Keys that have failed since the last success. */
  private readonly keys = new Set<string>();
  private probes = 0;
  /** Number of probes without a result yet. */
  private running = 0;
  private closedAt = -Infinity;
  /** Number of successful probes in a row, and the number needed to close. */
  private answers = 0;
  private answersNeeded = 1;
  private probe: Probe | undefined;
  private timer: Timer | undefined;

  constructor(private readonly listener: CircuitListener) {}

  get isOpen(): boolean {
    return this.probe !== undefined;
  }

  /** Whether it is half open: a probe is running, or has succeeded and more have to. */
  get isProbing(): boolean {
    return this.isOpen && (this.running > 0 || this.answers > 0);
  }

  succeeded(): void {
    this.hasFailed = false;
    this.failures = 0;
    this.keys.clear();
  }

  /** Counts a failure that may concern its key only. */
  failedOn(key: string, error: unknown, probe: Probe): void {
    this.hasFailed = true;
    this.keys.add(key);
    if (this.keys.size >= KEYS_IN_A_ROW) this.failed(error, probe, true);
  }

  /**
   * @param probe repeated until it succeeds
   * @param atOnce whether another attempt would be pointless
   */
  failed(error: unknown, probe: Probe, atOnce: boolean): void {
    if (this.probe) return;
    this.hasFailed = true;
    this.failures += 1;
    if (!atOnce && this.failures < FAILURES_IN_A_ROW) return;
    this.probe = probe;
    this.cause = error;
    this.expectAnswers();
    this.listener(error);
    this.probeLater();
  }

  /** Probes immediately, since the server may have recovered. */
  retry(): void {
    if (!this.probe) return;
    this.timer?.stop();
    void this.probeNow(this.probe);
  }

  /** Stops probing. */
  close(): void {
    this.timer?.stop();
    this.probe = undefined;
    this.cause = undefined;
  }

  private expectAnswers(): void {
    const isStable = performance.now() - this.closedAt >= STABLE_MS;
    this.answers = 0;
    this.answersNeeded = isStable ? 1 : Math.min(2 * this.answersNeeded, MOST_ANSWERS);
    if (isStable) this.probes = 0;
  }

  private probeLater(): void {
    this.retryAfter(Math.min(FIRST_PROBE_MS * 2 ** this.probes, LATEST_PROBE_MS));
    this.probes += 1;
  }

  private retryAfter(milliseconds: number): void {
    this.timer?.stop();
    this.timer = after(milliseconds * (0.5 + Math.random() / 2), () => this.retry());
  }

  private failedAgain(error: unknown): void {
    const isNew = String(error) !== String(this.cause);
    this.cause = error;
    this.answers = 0;
    if (isNew) this.listener(error);
    this.probeLater();
  }

  private async probeNow(probe: Probe): Promise<void> {
    this.running += 1;
    try {
      await probe();
    } catch (error) {
      if (this.probe === probe) this.failedAgain(error);
      return;
    } finally {
      this.running -= 1;
    }
    if (this.probe !== probe) return;
    this.succeeded();
    this.answers += 1;
    if (this.answers < this.answersNeeded) {
      this.retryAfter(FIRST_PROBE_MS);
      return;
    }
    this.closedAt = performance.now();
    this.close();
    this.listener();
  }
}
