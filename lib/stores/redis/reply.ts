import type { Verdict } from '../../contracts/algorithm.js';
import type { Outcome } from '../../contracts/store.js';

const FIELDS = 5;

/** The outcome in the reply of decide.lua: the instant, then five integers a hit. */
export function readReply(reply: readonly number[]): Outcome {
  const verdicts: Verdict[] = [];
  for (let at = 1; at < reply.length; at += FIELDS) {
    const retryAfter = reply[at + 2]!;
    verdicts.push({
      allowed: reply[at] === 1,
      remaining: reply[at + 1]!,
      retryAfter: retryAfter < 0 ? null : retryAfter,
      resetAfter: reply[at + 3]!,
      delay: reply[at + 4]!,
    });
  }
  return { verdicts, now: reply[0]! };
}
