import { MOST_KEYS, endsWithReset, type Adjustment } from '../../../contracts/store.js';

/** Maximum number of elements that a call reads, writes or moves one by one. */
const MOST_ELEMENTS = 1000;

/** Maximum number of concurrent calls for a long list, so that it leaves room for decisions. */
const MOST_AT_ONCE = 2;

/** A list of up to this length is sent at once, so that later calls are executed after it. */
const SHORT = 8;

/** Divides the adjustments of one slot into parts within the bounds of a call. */
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
 * Runs a function for every part, with limited concurrency if there are many. An error does not stop the others.
 *
 * @throws the first error, when all are finished
 */
export async function forEachPart<Part, Result>(
  parts: readonly Part[],
  run: (part: Part) => Promise<Result>,
): Promise<Result[]> {
  const results = new Array<Result>(parts.length);
  const failures: unknown[] = [];
  const left = parts.entries(); // which all workers share
  const work = async (): Promise<void> => {
    for (const [index, part] of left) {
      try {
        results[index] = await run(part);
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
