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

/**
 * Tries everything that a call may need, on separate keys, which are deleted after it.
 *
 * @param caller runs calls although the circuit breaker is open
 * @param key the separate keys are in its slot
 * @param timeout milliseconds for each call; by default that of the store
 * @throws Error if a decision would fail
 */
export async function repeatOnOtherKeys(
  caller: Caller,
  current: CurrentClient,
  call: Call,
  key: string,
  timeout?: number,
): Promise<void> {
  const probes = probesOf(call, `${key}:probe`);
  const server = current.serverOf(key);
  try {
    for (const probe of probes) {
      probe.server = server;
      probe.timeout = timeout;
      const reply = await caller.run(probe);
      // Without a ready check, the reply may be from database 0 after a failed SELECT.
      const failure = current.connection.refusal ?? failureIn(reply);
      if (failure) throw failure;
    }
  } finally {
    const reset = new Call(call.now, 'reset');
    reset.server = server;
    for (const { keys } of probes) for (const each of keys) reset.addKey(each);
    // Keys that cannot be deleted expire.
    if (current.client.status === 'ready') caller.run(reset).catch(() => undefined);
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
