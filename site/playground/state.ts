import { HeldPermits } from '../../lib/algorithms/concurrency/held-permits.js';
import { HitLog } from '../../lib/algorithms/sliding-window-log/hit-log.js';
import type { CompiledRule } from '../../lib/rules/compiled-rule.js';
import { seconds } from './words.js';
import { START } from './subject.js';

/** A field of the state that an algorithm stores, and its value in words. */
export type StateField = readonly [name: string, value: string];

type Data = number | string | boolean | null | readonly Data[] | Fields;
interface Fields {
  readonly [name: string]: Data;
}

const MOST_LISTED = 12;

/** Instants are far beyond all durations and counts. */
const EARLIEST = START / 2;

/** Returns the fields of a state. Zeros, and what only repeats the rule, are left out. */
export function fieldsOfState(state: unknown, { cost, parameters }: CompiledRule): readonly StateField[] {
  if (state === undefined) return [];
  const shown = typeof state === 'number' ? { instant: state } : state;
  const data = JSON.parse(JSON.stringify(shown, (_name, value) => inFields(value, cost))) as Data;
  const repeats = (name: string, value: Data): boolean =>
    isObject(value)
      ? Object.entries(value).every(([each, part]) => part === 0 || repeats(each, part))
      : value === parameters[name];
  return Object.entries(data as Record<string, Data>)
    .filter(([name, value]) => value !== 0 && !repeats(name, value))
    .map(([name, value]) => [name, inWords(name, value)]);
}

/** Returns the log or the permits in a state as fields, and any other value unchanged. All requests have one cost. */
function inFields(value: unknown, cost: number): unknown {
  if (value instanceof HitLog) {
    const instants = Array.from({ length: value.length - 1 }, (_, index) => value.instant(index + 1));
    return { instants, permits: value.lastTotal - value.total(0) };
  }
  if (value instanceof HeldPermits) {
    const permits = value.count(0);
    const endsAt = Array.from({ length: permits / cost }, (_, index) =>
      value.freeingEnd(0, cost * (index + 1)),
    );
    return { permits, endsAt, waiting: value.countWaiting(0) };
  }
  return value;
}

function inWords(name: string, value: Data): string {
  if (Array.isArray(value)) {
    const listed = value.slice(0, MOST_LISTED).map((each: Data) => inWords('', each));
    const more = value.length > MOST_LISTED ? ` and ${value.length - MOST_LISTED} more` : '';
    return value.length === 0 ? 'none' : `${listed.join(', ')}${more}`;
  }
  if (isObject(value)) {
    return Object.entries(value)
      .map(([each, part]) => `${each} ${inWords(each, part)}`)
      .join(' ');
  }
  if (typeof value !== 'number') return JSON.stringify(value).replaceAll('"', '');
  if (value > EARLIEST) return seconds(value - START);
  return /window|lease/i.test(name) ? seconds(value) : String(value);
}

function isObject(value: Data): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
