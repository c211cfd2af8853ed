import type { Hit } from '../../contracts/store.js';
import { Call } from './call.js';
import type { CurrentClient } from './current-client.js';

/** Maximum number of subjects to try until each server has one. A server with very few slots may get none. */
const MOST_TRIALS = 1000;

/** Returns for each server the first of many keys that it holds. */
export function keysByServer(
  current: CurrentClient,
  keyOf: (nth: number) => string,
): ReadonlyMap<string, string> {
  const keys = new Map<string, string>();
  const count = current.serverCount;
  for (let nth = 0; nth < MOST_TRIALS && keys.size < count; nth += 1) {
    const key = keyOf(nth);
    const server = current.serverOf(key);
    if (!keys.has(server)) keys.set(server, key);
  }
  return keys;
}

/** Returns one deciding call for each server. */
export function trialCalls(
  current: CurrentClient,
  trial: (subject: string) => readonly Hit[],
  now: number | undefined,
): Call[] {
  const hits = new Map<string, readonly Hit[]>();
  const keys = keysByServer(current, (nth) => {
    const some = trial(`ready-${nth}`);
    hits.set(some[0]!.key, some);
    return some[0]!.key;
  });
  return Array.from(keys.values(), (key) => {
    const call = new Call(now);
    call.addRequest(hits.get(key)!, {});
    return call;
  });
}
