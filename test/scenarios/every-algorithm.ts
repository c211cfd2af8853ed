import { parseDuration } from '../../lib/contracts/duration.js';
import type { Duration, Rule } from '../../lib/index.js';
import { DEFINITIONS, plainRules } from '../support/examples.js';

interface Quota {
  readonly limit: number;
  readonly window: Duration;
}

/** A limit by every algorithm that slides: no window of any position holds more, or it refills evenly. */
export function everySlidingRule(quota: Quota): Rule[] {
  const sliding = DEFINITIONS.filter(({ bound }) => bound !== 'each window').map(({ name }) => name);
  return everyRule(quota).filter(({ algorithm }) => sliding.includes(algorithm!));
}

/** A limit by every algorithm there is. */
export function everyRule({ limit, window }: Quota): Rule[] {
  return plainRules({ limit, windowMs: parseDuration(window)! / 1000 });
}
