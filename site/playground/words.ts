import type { CompiledRule } from '../../lib/rules/compiled-rule.js';
import type { Decided, Run } from './run.js';

/** Formats microseconds as seconds: `2.6 s`, `0.05 s`, `10 s`. */
export function seconds(microseconds: number): string {
  return `${Number((microseconds / 1e6).toFixed(3))} s`;
}

/** Formats a count: `1 request`, `20 requests`. */
export function requests(count: number): string {
  return `${count} ${count === 1 ? 'request' : 'requests'}`;
}

/** Describes the worst window of a rule: `20 in 10 s`. */
export function worstInWords({ algorithm, parameters }: CompiledRule, { worst }: Run): string {
  if (worst === undefined) return 'none allowed';
  return algorithm.leases
    ? `${worst.count} at a time`
    : `${worst.count} in ${seconds(parameters['window']!)}`;
}

/** Returns how many times the limit the permits of the worst window are: 1 or less if the limit holds everywhere. */
export function timesTheLimit({ parameters, cost }: CompiledRule, { worst }: Run): number {
  const limit = parameters['limit']!;
  return worst === undefined || limit === 0 ? 0 : (worst.count * cost) / limit;
}

/** Describes what a rule decided in one sentence. */
export function summaryOf(rule: CompiledRule, run: Run): string {
  const { allowed, delayed, denied, decided } = run;
  const parts = [`allows ${allowed} of ${requests(decided.length)}`];
  if (delayed > 0) parts.push(`delays ${delayed} of them`);
  if (denied > 0) parts.push(`denies ${denied}`);
  const times = timesTheLimit(rule, run);
  const beyond = times > 1 ? `, ${Number(times.toFixed(2))} times its limit` : '';
  const most = run.worst ? `; at most ${worstInWords(rule, run)}${beyond}` : '';
  return `${parts.join(', ')}${most}.`;
}

/** Describes one decision: `denied, retry after 2.6 s`. */
export function decisionInWords({ outcome, at, goesAt, retryAfter }: Decided): string {
  if (outcome === 'allowed') return 'allowed';
  if (outcome === 'delayed') return `delayed ${seconds(goesAt - at)}`;
  return retryAfter === null ? 'denied' : `denied, retry after ${seconds(retryAfter)}`;
}
