import { concurrency } from '../../lib/algorithms/concurrency/concurrency.js';
import { MOST_AT_ONCE } from '../../lib/algorithms/concurrency/concurrency.js';
import { fixedWindow } from '../../lib/algorithms/fixed-window/fixed-window.js';
import { slidingWindowCells } from '../../lib/algorithms/sliding-window-cells/sliding-window-cells.js';
import { slidingWindowCounter } from '../../lib/algorithms/sliding-window-counter/sliding-window-counter.js';
import { slidingWindowLog } from '../../lib/algorithms/sliding-window-log/sliding-window-log.js';
import { Reference } from '../support/reference.js';
import { calendarWindow } from './calendar-model.js';
import type { DrawnRule } from './drawn-rule.js';
import { calendarTimelines } from './forward-timeline.js';
import type { ReferenceUnderTest } from './reference-under-test.js';
import * as models from './window-models.js';

const limitOf = ({ limit }: DrawnRule): number => limit;

/** The algorithms that count in a window, with every alignment. */
export const WINDOW_REFERENCES: readonly ReferenceUnderTest[] = [
  {
    name: 'fixed-window from the first hit',
    create: ({ limit, window }) => new Reference(fixedWindow, { limit, window }),
    capacity: limitOf,
    model: models.fixedWindowFromFirstHit,
  },
  {
    name: 'fixed-window on the clock',
    create: ({ limit, window }) => new Reference(fixedWindow, { limit, window, align: 'clock' }),
    capacity: limitOf,
    model: models.fixedWindowOnTheClock,
  },
  {
    name: 'fixed-window on the calendar',
    create: ({ limit, window, calendar: { unit, timeZone, anchor } }) =>
      new Reference(fixedWindow, {
        ...{ limit, window, calendar: unit },
        ...(timeZone && { timeZone }),
        ...(anchor && { anchor }),
      }),
    capacity: limitOf,
    model: calendarWindow,
    timelines: calendarTimelines,
    atMost: 40, // Calculating the windows of an instant is slow.
  },
  {
    name: 'sliding-window-log',
    create: ({ limit, window }) => new Reference(slidingWindowLog, { limit, window }),
    capacity: limitOf,
    model: models.slidingWindowLog,
  },
  {
    name: 'sliding-window-counter',
    create: ({ limit, window }) => new Reference(slidingWindowCounter, { limit, window }),
    capacity: limitOf,
    model: models.slidingWindowCounter,
  },
  {
    name: 'sliding-window-cells',
    create: ({ limit, window }) =>
      new Reference(slidingWindowCells, window < 10 ? { limit, window, cells: window } : { limit, window }),
    capacity: limitOf,
    model: models.slidingWindowTenCells,
  },
  {
    name: 'sliding-window-cells, so many',
    create: ({ limit, window, cells }) =>
      new Reference(slidingWindowCells, { limit, window, cells: Math.min(cells, window) }),
    capacity: limitOf,
    model: models.slidingWindowCells,
  },
  {
    name: 'concurrency, never released',
    create: ({ limit, window }) => {
      return new Reference(
        concurrency,
        { limit: Math.min(limit, MOST_AT_ONCE), window: 0 },
        { lease: window },
      );
    },
    capacity: ({ limit }) => Math.min(limit, MOST_AT_ONCE),
    model: (admitted, now, terms) => {
      const limit = terms.limit < MOST_AT_ONCE ? terms.limit : BigInt(MOST_AT_ONCE);
      return models.slidingWindowLog(admitted, now, { ...terms, limit });
    },
  },
];
