/** One line of a history; check-history.mjs describes the kinds. */
export type HistoryLine = Readonly<Record<string, unknown>>;

export function parseHistory(text: string): HistoryLine[];
export function violationsIn(history: readonly HistoryLine[]): string[];
