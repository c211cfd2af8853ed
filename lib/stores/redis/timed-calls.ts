import type { Call } from './call.js';
import type { Caller } from './caller.js';
import type { CurrentClient } from './current-client.js';
import { Deadline, DeadlineError } from './deadline.js';

/** A connection on which no reply arrives for this long is closed, so that a new one is opened. */
const SILENCE_MS = 2000;

/** Rejects calls that get no reply in time. The deadline of a call starts when it is written. */
export class TimedCalls implements Caller {
  private readonly silence: Deadline;

  /** @param deadline that of calls without their own timeout */
  constructor(
    private readonly next: Caller,
    private readonly deadline: Deadline,
    private readonly current: CurrentClient,
  ) {
    this.silence = new Deadline(Math.max(SILENCE_MS, 5 * deadline.timeout));
  }

  /** @throws DeadlineError, or the error reply of the server */
  run(call: Call): Promise<unknown> {
    const { timeout } = call;
    call.isSent = true;
    call.writtenAt = performance.now();
    call.until = call.writtenAt + (timeout ?? this.deadline.timeout);
    const reply = this.next.run(call);
    call.reply = reply;
    if (timeout !== undefined) return new Deadline(timeout).within(reply);
    return this.deadline.within(reply, () => this.expectLate(reply, call.server));
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
