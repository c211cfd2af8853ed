export const isFull = process.env['FLOOD'] === 'full';

/** Returns a number at full scale with `FLOOD=full`, otherwise a smaller one for CI. */
export function scaled(all: number, inCi: number): number {
  return isFull ? all : inCi;
}

/** The time limit of a test in this folder. */
export const PATIENCE_MS = scaled(3_600_000, 120_000);

/** With `FLOOD=full`, prints what was measured, for docs/reliability.md. */
export function tell(what: string, figures: object): void {
  if (isFull) process.stderr.write(`${what}: ${JSON.stringify(figures)}\n`);
}

/** Calls a function for every number below `count`, a hundred at a time. */
export async function flood(count: number, action: (nth: number) => Promise<unknown>): Promise<void> {
  let begun = 0;
  const oneByOne = async (): Promise<void> => {
    while (begun < count) await action(begun++);
  };
  await Promise.all(Array.from({ length: 100 }, oneByOne));
}
