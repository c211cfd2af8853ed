import type { Decision, Rule } from '../../lib/index.js';
import type { RateLimiter } from '../../lib/limiter.js';
import type { Subject } from '../../lib/rules/subject.js';
import { plainRules } from '../support/examples.js';
import { Dice } from './dice.js';
import { flood } from './scale.js';
import { wildSubject } from './wild-subjects.js';

const LIMIT = 1000;
const WEEK_MS = 604_800_000;

/** One rule per algorithm, all with a thousand permits at once. */
const PLAIN: readonly Rule[] = plainRules({ limit: LIMIT, windowMs: WEEK_MS });

/** Groups of hits that share a script: there is one script for each set of algorithms, whatever clients send. */
export const SETS_OF_ALGORITHMS = 2 ** PLAIN.length;

/** Every hit is on a separate counter. */
export interface Fuzz {
  readonly hits: readonly { readonly rule: Rule; readonly subject: Subject; readonly cost: number }[];
  /** The number of hits that are charged, and therefore create a key. */
  readonly charged: number;
}

/** Random subjects, names and costs. No subject occurs twice with rules of the same name and algorithm. */
export function fuzzOf(count: number, seed: number): Fuzz {
  const dice = new Dice(seed);
  const rules = Array.from({ length: 300 }, () => ({ ...dice.oneOf(PLAIN), name: wildName(dice) }));
  const hits = new Map<string, Fuzz['hits'][number]>();
  let subject: Subject = '';
  while (hits.size < count) {
    subject = wildSubject(dice, subject);
    if (subject === '') continue; // A program that passes none gets an error.
    const rule = dice.oneOf(rules);
    const cost = dice.oneOf([0, 1, dice.below(LIMIT), LIMIT]);
    hits.set(JSON.stringify([rule.name, rule.algorithm, subject]), { rule, subject, cost });
  }
  const all = [...hits.values()];
  return { hits: all, charged: all.filter(({ cost }) => cost > 0).length };
}

/** From 1 to 64 printable ASCII characters, many of which are special in keys. */
function wildName(dice: Dice): string {
  const character = () =>
    dice.oneOf(['{', '}', ':', '@', '%', '%3A', 'a', ' ', String.fromCharCode(32 + dice.below(95))]);
  return `${dice.oneOf('ab{:')}${dice.text(20, character)}`.slice(0, 64);
}

/** Decides all hits, and returns the decisions that are not those of an unused counter. */
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
