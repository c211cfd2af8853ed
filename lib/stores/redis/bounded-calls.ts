import { MOST_KEYS, type Adjustment } from '../../contracts/store.js';
import { endsWithReset } from '../../contracts/undo.js';

/** Elements that a call reads, writes or moves one by one at most. */
const MOST_ELEMENTS = 1000;

/** Calls of one long list that are under way at the same time, so that it leaves room for decisions. */
const MOST_AT_ONCE = 2;

/** A short list goes all at once, so that what is asked for next comes behind it. */
const SHORT = 8;

/** Parts adjustments of one slot so that each part is within the bounds of a call. */
export function boundedParts(adjustments: readonly Adjustment[]): Adjustment[][] {
  const parts: Adjustment[][] = [];
  let [keys, elements] = [MOST_KEYS, 0];
  for (const adjustment of adjustments) {
    const weight = adjustment.algorithm.leases ? adjustment.cost : 1;
    const width = 1 + Number(endsWithReset(adjustment)) + Number(adjustment.once !== undefined);
    if (keys + width > MOST_KEYS || elements + weight > MOST_ELEMENTS) {
      parts.push([]);
      [keys, elements] = [0, 0];
    }
    parts.at(-1)!.push(adjustment);
    keys += width;
    elements += weight;
  }
  return parts;
}

/**
 * Does something for each of a list, a few at the same time if it is long, and all of it whatever fails.
 *
 * @throws what failed first
 */
export async function forEachPart<Part, Result>(
  parts: readonly Part[],
  run: (part: Part) => Promise<Result>,
): Promise<Result[]> {
  const results = new Array<Result>(parts.length);
  const failures: unknown[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < parts.length) {
      const index = next;
      next += 1;
      try {
        results[index] = await run(parts[index]!);
      } catch (error) {
        failures.push(error);
      }
    }
  };
  const workers = parts.length > SHORT ? MOST_AT_ONCE : parts.length;
  await Promise.all(Array.from({ length: workers }, work));
  if (failures.length > 0) throw failures[0];
  return results;
}
