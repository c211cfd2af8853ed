import type { HistoryLine } from './check-history.mjs';

export function contradictionsIn(history: readonly HistoryLine[]): string[];
