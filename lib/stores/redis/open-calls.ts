import { StoreFault } from '../../contracts/store-fault.js';
import type { Call } from './call.js';
import type { Caller } from './caller.js';
import { firstConnection } from './connection.js';
import type { CurrentClient } from './current-client.js';

const CLOSED = new StoreFault('connection', 'CLOSED', 'the store is closed');

/** Delays calls until the first connection, rejects those after `close`, and counts the others. */
export class OpenCalls implements Caller {
  /** Resolves when the first connection is established or has failed; absent after that. */
  private connecting: Promise<void> | undefined;
  private pending = 0;
  private isClosed = false;
  /** Called when no call is pending any more. */
  private drained: (() => void) | undefined;

  /** @param connectTimeout maximum time in milliseconds to wait for the first connection */
  constructor(
    private readonly next: Caller,
    current: CurrentClient,
    connectTimeout: number,
  ) {
    this.connecting = firstConnection(current.client, connectTimeout).then(() => {
      this.connecting = undefined;
    });
  }

  async run(call: Call): Promise<unknown> {
    if (this.connecting) await this.connecting;
    if (this.isClosed) throw CLOSED;
    this.pending += 1;
    try {
      return await this.next.run(call);
    } finally {
      this.pending -= 1;
      if (this.pending === 0) this.drained?.();
    }
  }

  /** Waits until the first connection is established or has failed. */
  async connected(): Promise<void> {
    await this.connecting;
  }

  /** Rejects further calls, and waits until all pending calls have a reply or have timed out. */
  async close(): Promise<void> {
    this.isClosed = true;
    if (this.pending > 0) await new Promise<void>((resolve) => (this.drained = resolve));
  }
}
