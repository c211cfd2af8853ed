const isFull = process.env['FLOOD'] === 'full';

/** How much of something there is: with `FLOOD=full` all of it, else what CI has the time for. */
export function scaled(all: number, inCi: number): number {
  return isFull ? all : inCi;
}

/** The longest that a test of this folder may take. */
export const PATIENCE_MS = scaled(3_600_000, 120_000);

/** Prints what was measured, for docs/reliability.md, with `FLOOD=full`. */
export function tell(what: string, figures: object): void {
  if (isFull) process.stderr.write(`${what}: ${JSON.stringify(figures)}\n`);
}

/** Does something for every number below `count`, a hundred at a time. */
export async function flood(count: number, action: (nth: number) => Promise<unknown>): Promise<void> {
  let begun = 0;
  const oneByOne = async (): Promise<void> => {
    while (begun < count) await action(begun++);
  };
  await Promise.all(Array.from({ length: 100 }, oneByOne));
}
