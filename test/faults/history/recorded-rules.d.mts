import type { HistoryLine } from './check-history.mjs';

/** The rules as lines of a history. */
export function ruleLines(): HistoryLine[];
