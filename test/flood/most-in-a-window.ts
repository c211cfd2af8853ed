import type { Burst } from './lives.js';

/** Returns the most permits that a subject certainly got in one window that is aligned to the clock. */
export function mostOnTheClock(bursts: readonly Burst[], window: number): number {
  const given = new Map<string, number>();
  for (const { subject, sentAt, answeredAt, admitted } of bursts) {
    const index = Math.floor(sentAt / window);
    if (Math.floor(answeredAt / window) !== index) continue; // The window is unknown.
    const place = `${subject} in ${index}`;
    given.set(place, (given.get(place) ?? 0) + admitted);
  }
  return Math.max(...given.values());
}

/** Returns the most permits that a subject certainly got within any interval of the length of a window. */
export function mostInAny(bursts: readonly Burst[], window: number): number {
  const subjects = new Set(bursts.map(({ subject }) => subject));
  let most = 0;
  for (const subject of subjects) {
    const own = bursts.filter((burst) => burst.subject === subject);
    for (const first of own) most = Math.max(most, givenFrom(first, own, window));
  }
  return most;
}

/** Returns the permits since the start of a burst, for bursts that ended within one window. */
function givenFrom({ sentAt }: Burst, own: readonly Burst[], window: number): number {
  const within = own.filter((burst) => burst.sentAt >= sentAt && burst.answeredAt < sentAt + window);
  return within.reduce((sum, { admitted }) => sum + admitted, 0);
}
