const isFull = process.env['FAULTS'] === 'full';

/** Returns a number at full scale with `FAULTS=full`, otherwise a smaller one for CI. */
export function scaled(all: number, inCi: number): number {
  return isFull ? all : inCi;
}

/** Registers a test that only a full run includes. */
export function onlyFull<Item>(...items: Item[]): Item[] {
  return isFull ? items : [];
}

/** The time limit of a test in this folder. */
export const PATIENCE_MS = scaled(900_000, 60_000);

/** With `FAULTS=full`, prints what was measured. */
export function tell(text: string): void {
  if (isFull) process.stdout.write(`${text}\n`);
}
