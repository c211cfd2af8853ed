import type { Hit } from '../../../contracts/store.js';
import { Call, type Caller } from '../wire/call.js';
import type { CurrentClient } from '../link/current-client.js';
import { failureIn } from '../wire/reply.js';
import { commandsOf } from '../wire/script.js';

/** Returns one deciding call for each server. */
export function probeCalls(
  current: CurrentClient,
  probe: (subject: string) => readonly Hit[],
  now: number | undefined,
): Call[] {
  const ofServers = current.firstByServer(
    (nth) => probe(`ready-${nth}`),
    ([hit]) => hit!.key,
  );
  return ofServers.map((hits) => {
    const call = new Call(now);
    call.addRequests([{ hits, options: {} }]);
    return call;
  });
}

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
   * @param key the separate keys are in its slot
   * @param timeout milliseconds for each call; by default that of the store
   * @throws Error if a decision would fail
   */
  async repeat(call: Call, key: string, timeout?: number): Promise<void> {
    const probes = probesOf(call, `${key}:probe`);
    const server = this.current.serverOf(key);
    try {
      for (const probe of probes) {
        const reply = await this.run(probe, server, timeout);
        // Without a ready check, the reply may be from database 0 after a failed SELECT.
        const failure = this.current.connection.refusal ?? failureIn(reply);
        if (failure) throw failure;
      }
    } finally {
      const reset = new Call(call.now, 'reset');
      for (const { keys } of probes) for (const key of keys) reset.addKey(key);
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

/**
 * Returns calls that try everything that a call may need, on keys that begin with the given one: each command of its
 * algorithms in any state of its counters, and the same function with each rule.
 */
function probesOf(call: Call, key: string): readonly Call[] {
  const rights = new Call(0, 'rights'); // with a time, so that a missing right to TIME is reported by rights.lua
  rights.addKey(key);
  rights.add(...commandsOf(call.algorithms));
  if (call.rules.length === 0) return [rights];
  const decides = new Call(call.now);
  const adjusts = new Call(call.now, 'adjust');
  for (const [index, { algorithm, parameters, block, denials }] of call.rules.entries()) {
    const hit: Hit = {
      key: `${key}${index}`,
      algorithm,
      parameters,
      cost: 1,
      block: block < 0 ? undefined : { key: `${key}${index}:block`, duration: block },
      shadow: denials === 1,
      ...(algorithm.leases && { lease: 'probe' }),
    };
    decides.addRequests([{ hits: [hit], options: {} }]);
    adjusts.addAdjustment({ ...hit, kind: 'refund', receipt: hit.lease ?? 0, chargedAt: 0, source: 'redis' });
  }
  return ['decide', 'across'].includes(call.main) ? [rights, decides] : [rights, decides, adjusts];
}
