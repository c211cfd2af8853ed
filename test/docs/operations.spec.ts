import { describe, expect, it } from '@jest/globals';
import { MemoryStore, recordMetrics } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import type { Meter } from '../../lib/limiter/metrics.js';
import { membersOf, tableOf } from '../readme/tables.js';

const PAGE = 'docs/operations.md';

/** The instruments that a meter has created: name and kind. */
function instruments(): string[][] {
  const made: string[][] = [];
  const nothing = { add() {}, record() {}, addCallback() {}, removeCallback() {} };
  const make = (kind: string) => (name: string) => {
    made.push([name, kind]);
    return nothing;
  };
  const meter: Meter = {
    createCounter: make('counter'),
    createHistogram: make('histogram'),
    createObservableGauge: make('gauge'),
  };
  recordMetrics(new RateLimiter({ store: new MemoryStore() }).events, meter);
  return made;
}

// The page describes the metrics and events that users build alerts on.
describe(PAGE, () => {
  it('docs/operations.md names every instrument and its kind', () => {
    const told = tableOf(PAGE, 'instrument').map(({ instrument, kind }) => [instrument, kind]);
    expect(told).toEqual(instruments());
  });

  it('docs/operations.md names every event', () => {
    const events = membersOf('lib/limiter/events.ts', 'RateLimitEventMap');
    expect(tableOf(PAGE, 'event').map(({ event }) => event)).toEqual([...events.keys()]);
  });
});
