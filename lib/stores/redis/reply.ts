import type { Verdict } from '../../contracts/algorithm.js';
import type { Outcome } from '../../contracts/store.js';

/** The reply of decide.lua: the instant, then of each request five integers a hit, or an error. */
export type DecideReply = readonly [now: number, ...rest: readonly (number | string)[]];

const FIELDS = 5;

/** What a request of a call failed by, if one did. */
export function failureIn(reply: unknown): Error | undefined {
  const failure: unknown = Array.isArray(reply) ? reply.find((part) => typeof part === 'string') : undefined;
  return typeof failure === 'string' ? replyError(failure) : undefined;
}

function replyError(message: string): Error {
  return Object.assign(new Error(message), { name: 'ReplyError' });
}

/** Reads the outcomes of requests in the reply of decide.lua, one after the other. */
export class ReplyReader {
  private at = 1;

  constructor(private readonly reply: DecideReply) {}

  /**
   * @param hits how many the request had
   * @throws Error what failed while the request was decided
   */
  next(hits: number): Outcome {
    const failure = this.reply[this.at];
    if (typeof failure === 'string') {
      this.at += 1;
      throw replyError(failure);
    }
    const verdicts: Verdict[] = [];
    for (let hit = 0; hit < hits; hit += 1) verdicts.push(this.verdict());
    return { verdicts, now: this.reply[0] };
  }

  private verdict(): Verdict {
    const { reply, at } = this as unknown as { reply: readonly number[]; at: number };
    this.at += FIELDS;
    const retryAfter = reply[at + 2]!;
    return {
      allowed: reply[at] === 1,
      remaining: reply[at + 1]!,
      retryAfter: retryAfter < 0 ? null : retryAfter,
      resetAfter: reply[at + 3]!,
      delay: reply[at + 4]!,
    };
  }
}
