import type { Exchange } from '../nest/request/exchange.js';
import type { RouteLimit } from '../nest/request/route-limit.js';
import type { Warnings } from '../nest/warnings.js';

/** What becomes of a rule that needs the end of a request which is not known, and the fix. */
const UNSETTLED = {
  held: [
    'its permits are held until their lease ends',
    'Hold the permits in the handler with RateLimitService.hold()',
  ],
  settled: [
    'each request keeps the charge of its cost, whatever `settle` is',
    'Take the permits in the handler with RateLimitService.reserve()',
  ],
  counted: ['all requests count, whatever `count` is', 'Call refund() in the handler'],
} as const;

/** Warns of rules that need the end of the request, where it is not known. */
export function warnOfUnsettled(
  { context }: Exchange,
  limits: readonly RouteLimit[],
  warnings: Warnings,
): void {
  for (const { name, isHeld, isSettled, endsLate } of limits) {
    if (!endsLate || !warnings.isPending('RL_NEVER_SETTLED', name)) continue;
    const route = `${context.getClass().name}.${context.getHandler().name}`;
    const [effect, fix] = isHeld ? UNSETTLED.held : isSettled ? UNSETTLED.settled : UNSETTLED.counted;
    warnings.warn(
      'RL_NEVER_SETTLED',
      `Rule "${name}" on ${route}: the end of a ${context.getType()} request is not known here, so ${effect}. ` +
        `${fix}, or add @SkipRateLimit("${name}").`,
      name,
    );
  }
}
