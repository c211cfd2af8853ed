import type { Result } from '../../lib/store.js';
import type { Deed } from './random-timeline.js';

/** The kinds of events in a timeline. */
export type Event =
  | 'let in'
  | 'held back'
  | 'denied'
  | 'denied for ever'
  | 'blocked'
  | 'given back'
  | 'given back, nobody behind'
  | 'renewed'
  | 'settled for less'
  | 'settled for more';

const AMENDED: Partial<Record<Deed['does'], Event>> = {
  refund: 'given back',
  'refund-last': 'given back, nobody behind',
  renew: 'renewed',
  settle: 'settled for less',
};

/** Counts the events, so that stores do not agree only because nothing happens. */
export class Tally {
  private readonly counts = new Map<Event, number>();

  of(event: Event): number {
    return this.counts.get(event) ?? 0;
  }

  /** @param unblocked the decisions of the hits as if no subject were blocked */
  note({ does }: Deed, answers: readonly unknown[], unblocked: readonly Result[]): void {
    for (const [index, answer] of answers.entries()) {
      const event =
        typeof answer === 'boolean'
          ? answer && AMENDED[does]
          : does === 'settle'
            ? (answer as { isCharged: boolean }).isCharged && 'settled for more'
            : does === 'consume' && eventOf(answer as Result, unblocked[index]!);
      if (event) this.counts.set(event, this.of(event) + 1);
    }
  }
}

function eventOf({ allowed, retryAfter, delay }: Result, unblocked: Result): Event {
  if (allowed) return delay > 0 ? 'held back' : 'let in';
  if (unblocked.allowed) return 'blocked';
  return retryAfter === null ? 'denied for ever' : 'denied';
}
