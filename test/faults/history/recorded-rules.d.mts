import type { HistoryLine } from './check-history.mjs';

/** Whom rules that get no fresh subjects count. */
export const EVERYBODY: string;
export const POOL: string;

/** The nth subject of a rule that gets fresh ones. */
export function guest(nth: number): string;

/** The rules as lines of a history. */
export function ruleLines(): HistoryLine[];
