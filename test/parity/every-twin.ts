import fc from 'fast-check';
import { FORWARD, forwardTimelines, type ForwardTimeline } from './forward-timeline.js';
import { RATE_TWINS } from './rate-twins.js';
import type { TwinUnderTest } from './twin-under-test.js';
import { WINDOW_TWINS } from './window-twins.js';

/** Every algorithm with every option that it has. */
export const EVERY_TWIN: readonly TwinUnderTest[] = [...WINDOW_TWINS, ...RATE_TWINS];

/** Checks a twin on its timelines, so many of them. */
export function checkTimelines(
  { timelines = forwardTimelines, atMost = Infinity }: TwinUnderTest,
  check: (timeline: ForwardTimeline) => void,
  runs = FORWARD.numRuns,
): void {
  fc.assert(fc.property(timelines, check), { ...FORWARD, numRuns: Math.min(runs, atMost) });
}
