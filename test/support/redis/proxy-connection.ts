import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** What happens to a chunk of replies: it is forwarded unless a test changes that. */
type Pass = (replies: Buffer) => void;

/**
 * A client's connection through the proxy, which a test can disturb. The next reply is the next chunk that the server
 * sends: one reply as long as one command is in flight.
 */
export class ProxyConnection {
  private readonly pass: Pass = (replies) => void this.client.write(replies);
  private next: Pass | undefined;
  private takesRequests = true;
  private isLossy = false;
  private delayMs = 0;
  private delivered: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly client: Socket,
    private readonly server: Socket,
  ) {
    client.on('data', (requests) => this.send(requests));
    server.on('data', (replies) => this.deliver(replies));
    for (const [side, other] of [
      [client, server],
      [server, client],
    ] as const) {
      side.on('error', () => undefined); // The close event is sufficient.
      side.on('close', () => other.destroy());
    }
  }

  /** Delays replies by a number of milliseconds from now on. */
  delay(milliseconds: number): void {
    this.delayMs = milliseconds;
  }

  /** Drops the next reply although the command has run; the following reply is assigned to this command. */
  dropNextReply(): void {
    this.next = () => undefined;
  }

  /** Drops the next request, and closes the connection. */
  cutNextRequest(): void {
    this.takesRequests = false;
  }

  /** Forwards only some bytes of the next reply although the command has run, and closes the connection. */
  cutNextReply(afterBytes: number): void {
    this.next = (replies) => this.client.end(replies.subarray(0, afterBytes));
  }

  /** Sends these bytes to the client, as if they were from the server. */
  inject(bytes: string | Buffer): void {
    this.client.write(bytes);
  }

  /** Forwards nothing in either direction until `resume`. */
  stall(): void {
    this.client.pause();
    this.server.pause();
  }

  /** Replies do not pass until `resume`; requests do. */
  holdReplies(): void {
    this.server.pause();
  }

  /** What `stall` or `holdReplies` has held up passes, and all that follows. */
  resume(): void {
    this.client.resume();
    this.server.resume();
  }

  /** Drops everything in both directions from now on, and keeps the connection open: a black hole. */
  lose(): void {
    this.isLossy = true;
  }

  /** Ends the connection with a TCP reset, like a machine that was restarted. */
  reset(): void {
    // A socket that is already closing cannot be reset.
    if (this.client.readableEnded || this.client.writableEnded) this.client.destroy();
    else this.client.resetAndDestroy();
  }

  private send(requests: Buffer): void {
    if (this.isLossy) return;
    if (this.takesRequests) this.server.write(requests);
    else this.client.destroy();
  }

  private deliver(replies: Buffer): void {
    if (this.isLossy) return;
    const pass = this.next ?? this.pass;
    this.next = undefined;
    const due = this.delayMs > 0 ? sleep(this.delayMs) : undefined;
    this.delivered = Promise.all([this.delivered, due]).then(() => pass(replies));
  }
}
