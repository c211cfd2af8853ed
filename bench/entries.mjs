// The entries of a contest by the names of their limiters: each limiter once, or with several sizes.
import { subjectsOf } from './subjects.mjs';

/** Returns an entry for each contestant. */
export function entriesOf(contestants) {
  return Object.entries(contestants).map(([limiter, open]) => ({ row: { limiter }, open }));
}

/**
 * Returns entries for all contestants at all sizes of the setting called `name`. `own` returns the setting of a
 * contestant at a size.
 */
export function entriesAtSizes(contestants, name, sizes, own) {
  return Object.entries(contestants).flatMap(([limiter, contestant]) =>
    sizes.map((size) => ({ row: { limiter, [name]: size }, ...own(contestant, size) })),
  );
}

/** Returns entries for all contestants with each number of keys; a contestant has `open` and other settings. */
export function entriesOnKeys(contestants, numbers) {
  return numbers.flatMap((keys) =>
    Object.entries(contestants).map(([limiter, own]) => ({
      row: { limiter, keys },
      ...own,
      subjects: subjectsOf(keys),
    })),
  );
}
