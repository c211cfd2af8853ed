import { parseDuration } from '../../lib/contracts/duration.js';
import type { Duration, Rule } from '../../lib/index.js';
import { DEFINITIONS, plainRules } from '../support/examples.js';

interface Quota {
  readonly limit: number;
  readonly window: Duration;
}

/** A limit with every algorithm that slides: it enforces the limit in any window, or refills evenly. */
export function everySlidingRule(quota: Quota): Rule[] {
  const sliding = DEFINITIONS.filter(({ bound }) => bound !== 'each window').map(({ name }) => name);
  return everyRule(quota).filter(({ algorithm }) => sliding.includes(algorithm!));
}

/** A limit with every algorithm. */
export function everyRule({ limit, window }: Quota): Rule[] {
  return plainRules({ limit, windowMs: parseDuration(window)! / 1000 });
}
