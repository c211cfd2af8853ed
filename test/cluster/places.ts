import calculateSlot from 'cluster-key-slot';
import { compileRule } from '../../lib/rules/compile-rule.js';
import type { RuleHit } from '../../lib/rules/compiled-rule.js';
import type { Decision } from '../../lib/index.js';
import type { RateLimiter } from '../../lib/limiter.js';
import type { AnyRule } from '../../lib/rules/rule.js';
import type { DecisionSource } from '../../lib/contracts/decision.js';
import type { RedisCluster } from '../support/redis/cluster.js';

/** A rule and its subject. */
export type On<Rule extends AnyRule = AnyRule> = readonly [rule: Rule, subject: string];

/** Returns the hits of one request on rules with different subjects, as the guard builds them. */
export function hitsOn(limiter: RateLimiter, places: readonly On[]): RuleHit[] {
  return places.flatMap(([rule, subject]) => limiter.engine.keyed(compileRule(rule)).hits(subject));
}

/** Subjects whose counters are on the first, the second and the third master of the cluster. */
export async function subjectsApart(cluster: RedisCluster): Promise<[string, string, string]> {
  const found = cluster.nodes.slice(0, 3).map(async (master) => {
    for (let number = 0; ; number++) {
      const subject = `s${number}`;
      if ((await cluster.ownerOf(calculateSlot(subject))) === master) return subject;
    }
  });
  return (await Promise.all(found)) as [string, string, string];
}

/** The source of each rule's result. */
export function sourcesOf({ decisions, source }: Decision): DecisionSource[] {
  return decisions.map((each) => each.source ?? source);
}
