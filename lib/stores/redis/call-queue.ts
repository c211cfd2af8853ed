import type { Call } from './call.js';
import { DeadlineError } from './deadline.js';

/** Writes a call to the connection; rejects with a DeadlineError if the reply does not arrive in time. */
export type Write = (call: Call, timeout: number | undefined) => Promise<unknown>;

/**
 * Maximum number of keys in pending calls to one server: enough to keep the server busy, and few enough that a slow
 * server replies within the deadline. See docs/adr/0021-bounded-wire.md.
 */
export const MOST_KEYS_IN_FLIGHT = 400;

interface Waiting {
  readonly call: Call;
  readonly timeout: number | undefined;
  readonly since: number;
  readonly resolve: (reply: Promise<unknown>) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * The queue of calls to one server: a limited number are written, the others wait in the process for replies. The
 * deadline of a call starts when it is written.
 */
export class CallQueue {
  private keysInFlight = 0;
  private waiting: Waiting[] = [];
  private first = 0;
  /** Number of replies that arrived in time. */
  private replies = 0;

  /**
   * @param now milliseconds since an arbitrary instant, while calls are pending
   * @param longestWaitMs a new call is rejected while another one has waited longer than this
   */
  constructor(
    private readonly write: Write,
    private readonly now: () => number,
    private readonly longestWaitMs: number,
  ) {}

  /** @throws DeadlineError, or the error reply of the server */
  send(call: Call, timeout?: number): Promise<unknown> {
    const oldest = this.waiting[this.first];
    if (!oldest && this.hasRoomFor(call)) return this.writeNow(call, timeout);
    const since = this.now();
    if (oldest && since - oldest.since > this.longestWaitMs) return Promise.reject(new Error(OVERLOADED));
    return new Promise((resolve, reject) => this.waiting.push({ call, timeout, since, resolve, reject }));
  }

  /** Rejects every call that is not written yet. */
  refuse(error: unknown): void {
    const refused = this.waiting.slice(this.first);
    this.waiting = [];
    this.first = 0;
    for (const { reject } of refused) reject(error);
  }

  /** Whether no reply arrived in time since this call was written. */
  isSilentSince(call: Call): boolean {
    return call.repliesBefore === this.replies;
  }

  private hasRoomFor({ keys }: Call): boolean {
    return this.keysInFlight === 0 || this.keysInFlight + keys.meant <= MOST_KEYS_IN_FLIGHT;
  }

  private writeNow(call: Call, timeout: number | undefined): Promise<unknown> {
    const keys = call.keys.meant;
    this.keysInFlight += keys;
    call.writtenAt = performance.now();
    call.repliesBefore = this.replies;
    return this.write(call, timeout).then(
      (reply) => {
        this.replies += 1;
        this.ended(keys);
        return reply;
      },
      (error: unknown) => {
        // The server hangs or is too slow: the waiting calls would not get a reply sooner.
        if (error instanceof DeadlineError && timeout === undefined) this.refuse(error);
        if ((error as Error).name === 'ReplyError') this.replies += 1;
        this.ended(keys);
        throw error;
      },
    );
  }

  private ended(keys: number): void {
    this.keysInFlight -= keys;
    for (;;) {
      const next = this.waiting[this.first];
      if (!next || !this.hasRoomFor(next.call)) return;
      this.first += 1;
      if (this.first === this.waiting.length || this.first === MOST_WRITTEN_KEPT) {
        this.waiting = this.waiting.slice(this.first);
        this.first = 0;
      }
      next.resolve(this.writeNow(next.call, next.timeout));
    }
  }
}

/** Written calls are removed from the queue in groups of this size, since each removal copies the rest. */
const MOST_WRITTEN_KEPT = 256;

const OVERLOADED = 'more calls wait for Redis than it answers';
