import type { Decision, RateLimiter, Rule, Subject } from '../../lib/index.js';
import { plainRules } from '../support/examples.js';
import { Dice } from './dice.js';
import { flood } from './scale.js';
import { wildSubject } from './wild-subjects.js';

const LIMIT = 1000;
const WEEK_MS = 604_800_000;

/** A rule an algorithm, all with a thousand permits at once. */
const PLAIN: readonly Rule[] = plainRules({ limit: LIMIT, windowMs: WEEK_MS });

/** What shares a call shares a script: there is one for each set of algorithms, whatever clients send. */
export const SETS_OF_ALGORITHMS = 2 ** PLAIN.length;

/** Every hit on a counter of its own. */
export interface Fuzz {
  readonly hits: readonly { readonly rule: Rule; readonly subject: Subject; readonly cost: number }[];
  /** How many of them are charged, and so leave a key. */
  readonly charged: number;
}

/** Random subjects, names and costs: no subject is asked about twice by rules of one name and algorithm. */
export function fuzzOf(count: number, seed: number): Fuzz {
  const dice = new Dice(seed);
  const rules = Array.from({ length: 300 }, () => ({ ...dice.oneOf(PLAIN), name: wildName(dice) }));
  const hits = new Map<string, Fuzz['hits'][number]>();
  let subject: Subject = '';
  while (hits.size < count) {
    subject = wildSubject(dice, subject);
    const rule = dice.oneOf(rules);
    const cost = dice.oneOf([0, 1, dice.below(LIMIT), LIMIT]);
    hits.set(JSON.stringify([rule.name, rule.algorithm, subject]), { rule, subject, cost });
  }
  const all = [...hits.values()];
  return { hits: all, charged: all.filter(({ cost }) => cost > 0).length };
}

/** From 1 to 64 printable ASCII characters, many of them with a meaning in keys. */
function wildName(dice: Dice): string {
  const character = () =>
    dice.oneOf(['{', '}', ':', '@', '%', '%3A', 'a', ' ', String.fromCharCode(32 + dice.below(95))]);
  return `${dice.oneOf('ab{:')}${dice.text(20, character)}`.slice(0, 64);
}

/** Asks for all of them, and tells which answers are not those of a counter that nobody else has charged. */
export async function strayAnswers({ hits }: Fuzz, limiter: RateLimiter): Promise<object[]> {
  const strays: object[] = [];
  await flood(hits.length, async (nth) => {
    const { rule, subject, cost } = hits[nth]!;
    const decision = await limiter.consume(rule, subject, { cost });
    if (!isOfItsOwn(decision, cost)) strays.push({ rule, subject, cost, decision });
  });
  return strays;
}

function isOfItsOwn({ allowed, limit, remaining, source }: Decision, cost: number): boolean {
  return allowed && limit === LIMIT && remaining === LIMIT - cost && source !== 'fallback';
}
