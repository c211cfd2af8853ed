import type { Hit } from '../../contracts/store.js';
import { Call } from './call.js';
import type { CurrentClient } from './current-client.js';

/** Maximum number of subjects to try until each server has one. A server with very few slots may get none. */
const MOST_TRIALS = 1000;

/** Returns one deciding call for each server. */
export function trialCalls(
  current: CurrentClient,
  trial: (subject: string) => readonly Hit[],
  now: number | undefined,
): Call[] {
  const hits = new Map<string, readonly Hit[]>();
  const count = current.serverCount;
  for (let nth = 0; nth < MOST_TRIALS; nth += 1) {
    const some = trial(`ready-${nth}`);
    const server = current.serverOf(some[0]!.key);
    if (!hits.has(server)) hits.set(server, some);
    if (hits.size >= count) break;
  }
  return Array.from(hits.values(), (some) => {
    const call = new Call(now);
    call.addRequest(some, {});
    return call;
  });
}
