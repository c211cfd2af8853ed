import { randomFrom } from './random.js';

/** A number that a kind of traffic has. */
export interface TrafficParameter {
  readonly label: string;
  readonly unit: string;
  readonly least: number;
  readonly most: number;
  readonly step: number;
  readonly initial: number;
}

/** When a client sends a denied request again: after a fixed time, or when `Retry-After` says. */
export type Retry = { readonly afterMs: number } | 'retry-after';

/** A kind of traffic: requests of one client. */
interface TrafficKind {
  readonly label: string;
  readonly hint: string;
  readonly parameters: Readonly<Record<string, TrafficParameter>>;
  /** Returns the instants of the requests in milliseconds, in any order. */
  arrivals(values: Values, ms: number, random: () => number, drawn: readonly number[]): number[];
  retry?(values: Values): Retry;
}

type Values = Readonly<Record<string, number>>;

/** The traffic of a playground. */
export interface Traffic {
  readonly kind: TrafficName;
  /** The parameters of the kind. */
  readonly values: Values;
  /** Requests in each column, if the traffic is drawn. */
  readonly drawn: readonly number[];
}

/** Number of columns in which traffic is drawn. */
export const COLUMNS = 40;

/** Largest number of requests in a drawn column. */
export const MOST_IN_COLUMN = 20;

/** Requests beyond this number are left out, so that every setting is drawn at once. */
export const MOST_ARRIVALS = 1000;

const count = (label: string, initial: number, most = 100): TrafficParameter => ({
  ...{ label, initial, most, unit: 'requests', least: 1, step: 1 },
});
const seconds = (label: string, initial: number, most = 60, step = 1): TrafficParameter => ({
  ...{ label, initial, most, unit: 's', least: step, step },
});
const rate = (initial: number): TrafficParameter => ({
  ...{ label: 'rate', initial, unit: 'requests/s', least: 0.1, most: 20, step: 0.1 },
});

/** Returns a number of instants, evenly from one instant to before another. */
function evenly(number: number, from: number, to: number): number[] {
  return Array.from({ length: number }, (_, nth) => from + (nth * (to - from)) / number);
}

function repeatedly(every: number, ms: number, at: (start: number) => number[]): number[] {
  return evenly(Math.ceil(ms / every), 0, Math.ceil(ms / every) * every).flatMap(at);
}

const KINDS = {
  edge: {
    label: 'Edge of a window',
    hint: 'A burst just before a window ends, and another just after the next has begun.',
    parameters: { size: count('size of each burst', 10), edge: seconds('edge after', 10, 120) },
    arrivals: ({ size, edge }) => [
      ...evenly(size!, edge! * 1000 - 1000, edge! * 1000 - 50),
      ...evenly(size!, edge! * 1000 + 50, edge! * 1000 + 1000),
    ],
  },
  steady: {
    label: 'Steady',
    hint: 'Requests at equal distances.',
    parameters: { rate: rate(1.5) },
    arrivals: (values, ms) => evenly(Math.ceil((values['rate']! * ms) / 1000), 0, ms),
  },
  poisson: {
    label: 'Random (Poisson)',
    hint: 'Requests that do not depend on each other, at an average rate.',
    parameters: { rate: rate(1.5) },
    arrivals(values, ms, random) {
      const found: number[] = [];
      const next = () => (-Math.log(1 - random()) * 1000) / values['rate']!;
      for (let at = next(); at < ms && found.length < MOST_ARRIVALS; at += next()) found.push(at);
      return found;
    },
  },
  bursts: {
    label: 'Bursts',
    hint: 'Several requests at once, then a pause.',
    parameters: { size: count('size of a burst', 14), every: seconds('a burst every', 8) },
    arrivals: ({ size, every }, ms) =>
      repeatedly(every! * 1000, ms, (start) => evenly(size!, start + 500, start + 900)),
  },
  retrying: {
    label: 'Client that retries at once',
    hint: 'A client with a task of several requests, which repeats each denied request at a fixed interval.',
    parameters: { size: count('requests of a task', 14), every: seconds('a task every', 15), pause: seconds('retry every', 1, 10, 0.5) }, // prettier-ignore
    arrivals: ({ size, every }, ms) =>
      repeatedly(every! * 1000, ms, (start) => evenly(size!, start + 500, start + 900)),
    retry: ({ pause }) => ({ afterMs: pause! * 1000 }),
  },
  patient: {
    label: 'Client that honours Retry-After',
    hint: 'The same client, but it repeats a denied request when the response said.',
    parameters: { size: count('requests of a task', 14), every: seconds('a task every', 15) },
    arrivals: ({ size, every }, ms) =>
      repeatedly(every! * 1000, ms, (start) => evenly(size!, start + 500, start + 900)),
    retry: () => 'retry-after',
  },
  drawn: {
    label: 'Drawn by you',
    hint: 'Drag in the field below, or choose a column with the arrow keys and change it with up and down.',
    parameters: {},
    arrivals: (_values, ms, _random, drawn) =>
      drawn.flatMap((number, column) =>
        evenly(number, (column * ms) / COLUMNS, ((column + 1) * ms) / COLUMNS),
      ),
  },
} satisfies Record<string, TrafficKind>;

/** The kinds of traffic. */
export const TRAFFIC: Readonly<Record<TrafficName, TrafficKind>> = KINDS;

/** The name of a kind of traffic. */
export type TrafficName = keyof typeof KINDS;

/** Returns the parameters of a kind with their first values. */
export function initialValues(kind: TrafficName): Values {
  const entries = Object.entries<TrafficParameter>(TRAFFIC[kind].parameters);
  return Object.fromEntries(entries.map(([name, { initial }]) => [name, initial]));
}

/** Returns the instants of the first attempts in whole milliseconds, sorted. */
export function arrivalsOf({ kind, values, drawn }: Traffic, lasts: number, seed: number): readonly number[] {
  const ms = lasts * 1000;
  return TRAFFIC[kind]
    .arrivals(values, ms, randomFrom(seed), drawn)
    .map(Math.round)
    .filter((at) => at >= 0 && at < ms)
    .toSorted((one, other) => one - other)
    .slice(0, MOST_ARRIVALS);
}

/** Returns how the client of some traffic repeats denied requests, if it does. */
export function retryOf({ kind, values }: Traffic): Retry | undefined {
  return TRAFFIC[kind].retry?.(values);
}

/** Returns the number of arrivals in each column, as far as they can be drawn. */
export function columnsOf(arrivals: readonly number[], lasts: number): readonly number[] {
  const columns = new Array<number>(COLUMNS).fill(0);
  for (const at of arrivals) columns[Math.floor((at * COLUMNS) / (lasts * 1000))]! += 1;
  return columns.map((number) => Math.min(number, MOST_IN_COLUMN));
}
