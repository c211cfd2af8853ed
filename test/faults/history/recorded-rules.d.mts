import type { HistoryLine } from './check-history.mjs';

/** The subjects of rules without fresh subjects. */
export const EVERYBODY: string;
export const POOL: string;

/** Rules for which requests wait in `acquire`, and one for which they wait in `hold`. */
export const LINED: readonly { readonly name: string }[];
export const QUEUED: { readonly name: string };
/** The costs with which reservations are settled. */
export const ACTUAL_COSTS: readonly number[];

/** The rules that must both allow and deny, by each source that decides during a fault. */
export const EXAMINED: readonly string[];

/** The name of a kind of outcome. */
export function outcomeOf(rule: string, source: string, isAllowed: boolean): string;

/** The nth fresh subject of a rule. */
export function guest(nth: number): string;

/** The rules as lines of a history. */
export function ruleLines(): HistoryLine[];
