import { Call } from './call.js';
import type { Caller } from './caller.js';
import type { CurrentClient } from './current-client.js';
import { failureIn } from './reply.js';

/** Repeats calls on separate keys, to find out whether a server can decide. */
export class Probes {
  /** @param next runs calls although the circuit breaker is open */
  constructor(
    private readonly next: Caller,
    private readonly current: CurrentClient,
  ) {}

  /**
   * Tries everything that a call may need, on separate keys, which are deleted after it.
   *
   * @param timeout milliseconds for each call; by default that of the store
   * @throws Error if a decision would fail
   */
  async repeat(call: Call, timeout?: number): Promise<void> {
    const { probes } = call;
    const server = this.current.servers.of(call.keys.all[0]!);
    try {
      for (const probe of probes) {
        const reply = await this.run(probe, server, timeout);
        // Without a ready check, the reply may be from database 0 after a failed SELECT.
        const failure = this.current.connection.refusal ?? failureIn(reply);
        if (failure) throw failure;
      }
    } finally {
      const reset = new Call(call.now, 'reset');
      for (const { keys } of probes) for (const key of keys.all) reset.keys.add(key);
      // Keys that cannot be deleted expire.
      if (this.current.client.status === 'ready') this.run(reset, server).catch(() => undefined);
    }
  }

  private run(call: Call, server: string, timeout?: number): Promise<unknown> {
    call.server = server;
    call.timeout = timeout;
    return this.next.run(call);
  }
}
