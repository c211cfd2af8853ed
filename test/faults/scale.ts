const isFull = process.env['FAULTS'] === 'full';

/** How much of something there is: with `FAULTS=full` all of it, else what CI has the time for. */
export function scaled(all: number, inCi: number): number {
  return isFull ? all : inCi;
}

/** What only a full run has the time for. */
export function onlyFull<Item>(...items: Item[]): Item[] {
  return isFull ? items : [];
}

/** The longest that a test of this folder may take. */
export const PATIENCE_MS = scaled(900_000, 60_000);

/** Prints what was measured, with `FAULTS=full`. */
export function tell(text: string): void {
  if (isFull) process.stdout.write(`${text}\n`);
}
