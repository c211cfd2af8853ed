import type { Timeline } from './random-timeline.js';

/** A timeline without what an algorithm may not foretell: that it is about to be another, for one. */
export function foretellable(timeline: Timeline): Timeline {
  const steps = timeline.steps
    .filter(({ does }) => does !== 'change')
    .map((step) => (step.does === 'consume' ? { ...step, costs: step.costs.slice(0, 1) } : step));
  const isCalendar = timeline.rules.some(
    ({ algorithm, calendar }) => algorithm === 'fixed-window' && calendar,
  );
  return { ...timeline, skew: 0, steps: isCalendar ? steps.filter(isWithinKnownWindows) : steps };
}

/** Windows of a calendar are known around now; debt and clocks that reach further are reckoned with, roughly. */
function isWithinKnownWindows(step: Timeline['steps'][number]): boolean {
  if (step.after === 'twelfths' && step.twelfths < 0) return false;
  if (step.does === 'settle') return step.actual === 0;
  return step.does !== 'consume' || step.patience !== 'endless';
}
