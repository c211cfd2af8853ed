import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** What becomes of a chunk of replies: all of it unless a test wants otherwise. */
type Pass = (replies: Buffer) => void;

/**
 * A client's connection through the proxy, and what a test does to it.
 *
 * The next reply is what the server sends next in one go: one reply as long as one command is under way.
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
      side.on('error', () => undefined); // Its close says enough.
      side.on('close', () => other.destroy());
    }
  }

  /** Replies come so many milliseconds later from now on. */
  delay(milliseconds: number): void {
    this.delayMs = milliseconds;
  }

  /** The next reply never comes, though the command has run; the one after it comes in its place. */
  dropNextReply(): void {
    this.next = () => undefined;
  }

  /** The next request never arrives, and the connection ends. */
  cutNextRequest(): void {
    this.takesRequests = false;
  }

  /** The next reply breaks off after so many bytes, though the command has run, and the connection ends. */
  cutNextReply(afterBytes: number): void {
    this.next = (replies) => this.client.end(replies.subarray(0, afterBytes));
  }

  /** The client gets these bytes, as if the server had sent them. */
  inject(bytes: string | Buffer): void {
    this.client.write(bytes);
  }

  /** Nothing passes in either direction until `resume`. */
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

  /** Whatever is sent from now on is lost, in both directions, and the connection stays open: a black hole. */
  lose(): void {
    this.isLossy = true;
  }

  /** Ends the connection with a TCP reset, as a machine does that has been started anew. */
  reset(): void {
    // A socket that is ending already cannot be reset any more.
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
