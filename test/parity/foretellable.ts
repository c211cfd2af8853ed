import type { Timeline } from './random-timeline.js';

/** Returns a timeline without the steps whose effect an algorithm cannot predict, such as a change of its rule. */
export function foretellable(timeline: Timeline): Timeline {
  const steps = timeline.steps
    .filter(({ does }) => does !== 'change')
    .map((step) => (step.does === 'consume' ? { ...step, costs: step.costs.slice(0, 1) } : step));
  const isCalendar = timeline.rules.some(
    ({ algorithm, calendar }) => algorithm === 'fixed-window' && calendar,
  );
  return { ...timeline, skew: 0, steps: isCalendar ? steps.filter(isWithinKnownWindows) : steps };
}

/**
 * The starts of calendar windows are known around the current time. For debt and clocks beyond that, the result is an
 * estimate.
 */
function isWithinKnownWindows(step: Timeline['steps'][number]): boolean {
  if (step.after === 'twelfths' && step.twelfths < 0) return false;
  if (step.does === 'settle') return step.actual === 0;
  return step.does !== 'consume' || step.maxWait !== 'endless';
}
