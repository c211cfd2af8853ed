// The subjects of the benchmarks.
import { seeded } from './traffic.mjs';

/** Returns a number of subjects with 11 characters, always in the same irregular order. */
export function subjectsOf(count) {
  const subjects = Array.from({ length: count }, (_, number) => `user-${String(number).padStart(6, '0')}`);
  const random = seeded(1);
  for (let last = count - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1));
    [subjects[last], subjects[other]] = [subjects[other], subjects[last]];
  }
  return subjects;
}
