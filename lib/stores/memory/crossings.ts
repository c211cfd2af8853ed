import type { Counter } from '../../contracts/store.js';
import type { Entries } from './entries.js';

/** Reports the thresholds that a charge has crossed, as alerts.lua does. */
export function reportCrossed(
  entries: Entries,
  { key, alerts, cost }: Counter & { readonly cost: number },
  { remaining = 0, resetAfter = 0 }: { readonly remaining?: number; readonly resetAfter?: number },
  now: number,
): void {
  for (const [index, given] of alerts!.levels.entries()) {
    const level = given < 0 ? cost - 1 : given;
    if (remaining > level || remaining + cost <= level) continue;
    const reported = { key: `${key}:alert:${given}` };
    if (Number(entries.get(reported) ?? 0) > now) continue;
    const until = now + (alerts!.keptFor || resetAfter);
    entries.set(reported, until, until, 1);
    alerts!.crossed(index, remaining);
  }
}
