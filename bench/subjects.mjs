// Whom the benches ask about.
import { seeded } from './traffic.mjs';

/** So many subjects of 11 characters, in an order without pattern that is always the same. */
export function subjectsOf(count) {
  const subjects = Array.from({ length: count }, (_, number) => `user-${String(number).padStart(6, '0')}`);
  const random = seeded(1);
  for (let last = count - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1));
    [subjects[last], subjects[other]] = [subjects[other], subjects[last]];
  }
  return subjects;
}
