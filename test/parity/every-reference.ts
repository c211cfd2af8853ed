import fc from 'fast-check';
import { FORWARD, forwardTimelines, type ForwardTimeline } from './forward-timeline.js';
import { rulesOfOthers } from '../support/examples.js';
import { Reference } from '../support/reference.js';
import { RATE_REFERENCES } from './rate-references.js';
import type { ReferenceUnderTest } from './reference-under-test.js';
import { WINDOW_REFERENCES } from './window-references.js';

/** Every algorithm with each of its options. */
export const EVERY_REFERENCE: readonly ReferenceUnderTest[] = [
  ...WINDOW_REFERENCES,
  ...RATE_REFERENCES,
  ...otherReferences(),
];

/** The first example of each algorithm that the lists do not contain. It has all checks except those of a model. */
function otherReferences(): ReferenceUnderTest[] {
  const listed = [...WINDOW_REFERENCES, ...RATE_REFERENCES].map(({ name }) => name.split(/[ ,]/)[0]!);
  return rulesOfOthers(listed, { limit: 1, windowMs: 1000 }).map(({ name, definition, example }) => ({
    name,
    create: ({ limit, window }) => {
      const own = example.rule({ limit, windowMs: window / 1000 });
      return new Reference(definition, { limit, window: definition.leases ? 0 : window, ...own });
    },
    capacity: ({ limit }) => limit,
  }));
}

/** Checks a reference implementation on a number of timelines. */
export function checkTimelines(
  { timelines = forwardTimelines, atMost = Infinity }: ReferenceUnderTest,
  check: (timeline: ForwardTimeline) => void,
  runs = FORWARD.numRuns,
): void {
  fc.assert(fc.property(timelines, check), { ...FORWARD, numRuns: Math.min(runs, atMost) });
}
