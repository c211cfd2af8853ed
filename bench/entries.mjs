// Between whom a contest is, by the names of their limiters: each as it is, or at several sizes of something.
import { subjectsOf } from './subjects.mjs';

/** Each contestant once. */
export function entriesOf(contestants) {
  return Object.entries(contestants).map(([limiter, open]) => ({ row: { limiter }, open }));
}

/** One contestant after the other, at all sizes of what `name` says; `own` makes the setting of one at a size. */
export function entriesAtSizes(contestants, name, sizes, own) {
  return Object.entries(contestants).flatMap(([limiter, contestant]) =>
    sizes.map((size) => ({ row: { limiter, [name]: size }, ...own(contestant, size) })),
  );
}

/** One number of keys after the other, asked of all; of each contestant `open`, and what else it needs. */
export function entriesOnKeys(contestants, numbers) {
  return numbers.flatMap((keys) =>
    Object.entries(contestants).map(([limiter, own]) => ({
      row: { limiter, keys },
      ...own,
      subjects: subjectsOf(keys),
    })),
  );
}
