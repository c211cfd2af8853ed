import type { Call, Caller } from '../wire/call.js';
import { DeadlineError, Deadline } from '../link/deadline.js';
import type { CurrentClient } from '../link/current-client.js';

/**
 * Maximum number of keys in pending calls to one server: enough to keep the server busy, and few enough that a slow
 * server replies within the deadline. See docs/adr/0021-bounded-wire.md.
 */
export const MOST_KEYS_IN_FLIGHT = 400;

interface Waiting {
  readonly call: Call;
  readonly since: number;
  readonly resolve: (reply: Promise<unknown>) => void;
  readonly reject: (error: unknown) => void;
  next?: Waiting | undefined;
}

/**
 * The queue of calls to one server: a limited number are written, the others wait in the process for replies. The
 * deadline of a call starts when it is written.
 */
export class CallQueue implements Caller {
  private keysInFlight = 0;
  /** The oldest and the newest waiting call: an array would be copied with each call that is taken from its front. */
  private oldest: Waiting | undefined;
  private newest: Waiting | undefined;
  /** Number of replies that arrived in time. */
  private replies = 0;

  /**
   * @param next writes a call to the connection; rejects with a DeadlineError if the reply does not arrive in time
   * @param time milliseconds since an arbitrary instant, while calls are pending
   * @param longestWaitMs a new call is rejected while another one has waited longer than this
   */
  constructor(
    private readonly next: Caller,
    private readonly time: { readonly now: number },
    private readonly longestWaitMs: number,
  ) {}

  /** @throws DeadlineError, or the error reply of the server */
  run(call: Call): Promise<unknown> {
    const { oldest } = this;
    if (!oldest && this.hasRoomFor(call)) return this.write(call);
    const since = this.time.now;
    if (oldest && since - oldest.since > this.longestWaitMs) return Promise.reject(new Error(OVERLOADED));
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { call, since, resolve, reject };
      if (this.newest) this.newest.next = waiting;
      else this.oldest = waiting;
      this.newest = waiting;
    });
  }

  /** Rejects every call that is not written yet. */
  refuse(error: unknown): void {
    let refused = this.oldest;
    this.oldest = this.newest = undefined;
    for (; refused; refused = refused.next) refused.reject(error);
  }

  private hasRoomFor({ keysAdded }: Call): boolean {
    return this.keysInFlight === 0 || this.keysInFlight + keysAdded <= MOST_KEYS_IN_FLIGHT;
  }

  private async write(call: Call): Promise<unknown> {
    const { timeout, keysAdded } = call;
    const repliesBefore = this.replies;
    this.keysInFlight += keysAdded;
    try {
      const reply = await this.next.run(call);
      this.replies += 1;
      return reply;
    } catch (error) {
      call.isSlow = timeout !== undefined || repliesBefore !== this.replies;
      // The server hangs or is too slow: the waiting calls would not get a reply sooner.
      if (error instanceof DeadlineError && timeout === undefined) this.refuse(error);
      if ((error as Error).name === 'ReplyError') this.replies += 1;
      throw error;
    } finally {
      this.keysInFlight -= keysAdded;
      if (this.oldest) this.writeWaiting();
    }
  }

  private writeWaiting(): void {
    for (let next = this.oldest; next && this.hasRoomFor(next.call); next = this.oldest) {
      this.oldest = next.next;
      next.next = undefined; // It would keep the later ones from being collected.
      if (!this.oldest) this.newest = undefined;
      next.resolve(this.write(next.call));
    }
  }
}

const OVERLOADED = 'more calls wait for Redis than it answers';

/** A connection on which no reply arrives for this long is closed, so that a new one is opened. */
const SILENCE_MS = 2000;

/** Rejects calls that get no reply in time. The deadline of a call starts when it is written. */
export class TimedCalls implements Caller {
  private readonly silence: Deadline;

  /** @param deadline that of calls without their own timeout */
  constructor(
    private readonly next: Caller,
    readonly deadline: Deadline,
    private readonly current: CurrentClient,
  ) {
    this.silence = new Deadline(Math.max(SILENCE_MS, 5 * deadline.timeout));
  }

  /** @throws DeadlineError, or the error reply of the server */
  run(call: Call): Promise<unknown> {
    const { timeout } = call;
    call.isSent = true;
    const isReached = this.current.cluster?.reaching(call.server);
    const reply = this.next.run(call);
    if (isReached) reply.catch((error: unknown) => (call.isSent = isReached(error)));
    call.reply = reply;
    const deadline = timeout === undefined ? this.deadline : new Deadline(timeout);
    const expectLate = (): void => this.expectLate(reply, call.server);
    const result = deadline.within(reply, timeout === undefined ? expectLate : undefined);
    const until = deadline.now + deadline.timeout;
    call.left = () => until - deadline.now;
    return result;
  }

  close(): void {
    this.deadline.close();
    this.silence.close();
  }

  /** Waits for a late reply. Without any reply, the connection may have been cut unnoticed. */
  private expectLate(reply: Promise<unknown>, server: string): void {
    if (this.silence.isWaiting) return;
    this.silence
      .within(reply, () => this.current.hangUp(server))
      .catch((error: unknown) => {
        if (error instanceof DeadlineError) this.current.connection.gaveUp(error);
      });
  }
}
