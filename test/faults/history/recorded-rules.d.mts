import type { HistoryLine } from './check-history.mjs';

/** The subjects of rules without fresh subjects. */
export const EVERYBODY: string;
export const POOL: string;

/** The nth fresh subject of a rule. */
export function guest(nth: number): string;

/** The rules as lines of a history. */
export function ruleLines(): HistoryLine[];
