import type { Verdict } from '../../contracts/algorithm.js';

const FIELDS = 4;

/** The verdicts in the script's reply: four integers a hit, see decide.lua. */
export function readReply(reply: readonly number[]): Verdict[] {
  const verdicts: Verdict[] = [];
  for (let at = 0; at < reply.length; at += FIELDS) {
    const retryAfter = reply[at + 2]!;
    verdicts.push({
      allowed: reply[at] === 1,
      remaining: reply[at + 1]!,
      retryAfter: retryAfter < 0 ? null : retryAfter,
      resetAfter: reply[at + 3]!,
    });
  }
  return verdicts;
}
