import type { Redis } from 'ioredis';
import { toMicroseconds, type Clock } from '../../lib/contracts/clock.js';
import { compileRule } from '../../lib/rules/compile-rule.js';
import { Keys } from '../../lib/rules/keys.js';
import type { AnyRule } from '../../lib/rules/rule.js';
import type { DecideOptions, Hit, Store, Result } from '../../lib/store.js';
import { Call } from '../../lib/stores/redis/wire/call.js';
import { ReplyReader } from '../../lib/stores/redis/wire/reply.js';
import { assembleScript } from '../../lib/stores/redis/wire/script.js';

/** Hits that are decided all or nothing. */
export interface Request {
  readonly hits: readonly Hit[];
  readonly options: DecideOptions;
}

/** Encodes requests with keys of a prefix. */
export class Requests {
  private readonly keys: Keys;

  constructor(prefix: string, clock: Clock) {
    this.keys = new Keys(prefix, clock);
  }

  of(
    rules: AnyRule | readonly AnyRule[],
    cost?: number,
    options: DecideOptions = {},
    subject = 'ann',
  ): Request {
    const keyed = [rules].flat().map((rule: AnyRule) => this.keys.keyed(compileRule(rule)));
    return { hits: keyed.flatMap((each) => each.hits(subject, cost)), options };
  }
}

/** Returns the same requests with keys of another prefix. */
export function underPrefix(from: string, to: string, requests: readonly Request[]): Request[] {
  const rename = (key: string) => key.replace(from, to);
  return requests.map(({ hits, options }) => ({
    options,
    hits: hits.map(({ block, ...hit }) => ({
      ...hit,
      key: rename(hit.key),
      ...(block && { block: { ...block, key: rename(block.key) } }),
    })),
  }));
}

/** Returns the results of one call of decide.lua for a list of requests. */
export async function decideTogether(
  redis: Redis,
  clock: Clock,
  requests: readonly Request[],
): Promise<Result[][]> {
  const call = new Call(toMicroseconds(clock()));
  call.addRequests(requests);
  const script = assembleScript(call.main, call.algorithms);
  const reply = await redis.callBuffer('EVAL', script, call.keys.length, ...call.keys, ...call.argv);
  const reader = new ReplyReader(reply, requests);
  return requests.map((request) => reader.next(request).map(resultOf));
}

/** Returns the results of a store that decides them in sequence. */
export async function decideInTurn(store: Store, requests: readonly Request[]): Promise<Result[][]> {
  const said: Result[][] = [];
  for (const { hits, options } of requests) {
    said.push((await store.decide(hits, options)).map(resultOf));
  }
  return said;
}

/** Returns the result without its source. */
function resultOf({ allowed, remaining, retryAfter, resetAfter, delay }: Result): Result {
  return { allowed, remaining, retryAfter, resetAfter, delay };
}
