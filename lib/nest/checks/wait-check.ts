import { problem } from '../../contracts/rate-limit-config.error.js';
import type { RouteLimit } from '../request/route-limit.js';

const FOR_REQUESTS =
  'none on this handler, since only calls of provider methods wait for permits of a window; requests wait with algorithm "concurrency", or are delayed with "leaky-bucket"';

/**
 * Returns the problems of rules that wait where they cannot.
 *
 * @param isCall whether the handler is a method of a provider
 * @param limits the rules that limit the handler
 */
export function waitProblems(isCall: boolean, limits: readonly RouteLimit[]): readonly string[] {
  const waiting = limits.filter(({ waits, isHeld }) => waits && !isHeld);
  if (!isCall) return waiting.filter(({ delays }) => !delays).map((limit) => refusal(limit, FOR_REQUESTS));
  const held = limits.find(({ isHeld }) => isHeld);
  if (!held) return [];
  const allowed = `none beside rule "${held.name}", whose permits are held: limit another method, which calls this one`;
  return waiting.map((limit) => refusal(limit, allowed));
}

function refusal({ path, fields }: RouteLimit, allowed: string): string {
  return problem(`${path}.maxWait`, fields.maxWait, allowed);
}
