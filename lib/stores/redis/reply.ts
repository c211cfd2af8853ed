import type { HitResult } from '../../contracts/store.js';

/** The remaining permits of a hit, and the part of the subject if all subjects of the rule share the limit. */
type Remaining = number | readonly [remaining: number, guaranteed: number, borrowed: number];

/** The reply of decide.lua: the instant, then three values per hit; the first value of a failed request is an error. */
export type DecideReply = readonly [now: number, ...rest: readonly (Remaining | string)[]];

const FIELDS = 3;

const NEVER = -1;

/** Returns the error of the first failed request of a call; also an error if the reply is not one of this package. */
export function failureIn(reply: unknown): Error | undefined {
  if (typeof reply === 'number') return undefined;
  if (!Array.isArray(reply)) return replyError(`something unexpected (${typeof reply})`);
  for (const part of reply as readonly unknown[]) {
    if (typeof part === 'string') return replyError(part);
    if (typeof part === 'number') continue;
    if (!Array.isArray(part) || !part.every((figure) => typeof figure === 'number')) {
      return replyError(`a list with something unexpected (${typeof part})`);
    }
  }
  return undefined;
}

function replyError(message: string): Error {
  return Object.assign(new Error(message), { name: 'ReplyError' });
}

/** Reads the results of requests in the reply of decide.lua, one after the other. */
export class ReplyReader {
  private at = 1;

  constructor(private readonly reply: DecideReply) {}

  /**
   * @param hits number of hits of the request
   * @throws Error the error of the request, if it failed
   */
  next(hits: number): HitResult[] {
    const { reply, at } = this;
    this.at += FIELDS * hits;
    const failure = reply[at];
    if (failure === undefined || typeof failure === 'string') {
      throw replyError(failure ?? 'a list that is too short');
    }
    const results = new Array<HitResult>(hits);
    for (let hit = 0; hit < hits; hit += 1) results[hit] = this.result(at + FIELDS * hit);
    return results;
  }

  private result(at: number): HitResult {
    const figures = this.reply[at] as Remaining;
    if (typeof figures === 'number') return this.resultWith(figures, at);
    const [remaining, guaranteed, borrowed] = figures;
    return { ...this.resultWith(remaining, at), part: { guaranteed, borrowed } };
  }

  private resultWith(remaining: number, at: number): HitResult {
    const reply = this.reply as readonly number[];
    const now = reply[0]!;
    const source = 'redis';
    const wait = reply[at + 1]!;
    const resetAfter = reply[at + 2]!;
    if (wait >= 0) return { allowed: true, remaining, retryAfter: 0, resetAfter, delay: wait, source, now };
    const retryAfter = wait === NEVER ? null : -2 - wait;
    const denied = { allowed: false, remaining, retryAfter, resetAfter, delay: 0, source, now } as const;
    return remaining < 0 ? { ...denied, remaining: 0, blockedFor: -remaining } : denied;
  }
}
