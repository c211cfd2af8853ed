import fc from 'fast-check';
import { FORWARD, forwardTimelines, type ForwardTimeline } from './forward-timeline.js';
import { rulesOfOthers } from '../support/examples.js';
import { Twin } from '../support/twin.js';
import { RATE_TWINS } from './rate-twins.js';
import type { TwinUnderTest } from './twin-under-test.js';
import { WINDOW_TWINS } from './window-twins.js';

/** Every algorithm with each of its options. */
export const EVERY_TWIN: readonly TwinUnderTest[] = [...WINDOW_TWINS, ...RATE_TWINS, ...otherTwins()];

/** The first example of each algorithm that the lists do not contain. It has all checks except those of a model. */
function otherTwins(): TwinUnderTest[] {
  const listed = [...WINDOW_TWINS, ...RATE_TWINS].map(({ name }) => name.split(/[ ,]/)[0]!);
  return rulesOfOthers(listed, { limit: 1, windowMs: 1000 }).map(({ name, definition, example }) => ({
    name,
    create: ({ limit, window }) => {
      const own = example.rule({ limit, windowMs: window / 1000 });
      return new Twin(definition, { limit, window: definition.leases ? 0 : window, ...own });
    },
    capacity: ({ limit }) => limit,
  }));
}

/** Checks a reference implementation on a number of timelines. */
export function checkTimelines(
  { timelines = forwardTimelines, atMost = Infinity }: TwinUnderTest,
  check: (timeline: ForwardTimeline) => void,
  runs = FORWARD.numRuns,
): void {
  fc.assert(fc.property(timelines, check), { ...FORWARD, numRuns: Math.min(runs, atMost) });
}
