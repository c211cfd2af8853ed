import { algorithms } from '../algorithms/registry.js';
import { ifValid } from '../contracts/rate-limit-config.error.js';
import { ReplayedCounter } from '../replay/counter.js';
import type { CompiledRule } from '../rules/compiled-rule.js';
import { fieldsOf, readRule } from './rule-text.js';

/** The largest limit of a rule. */
const LARGEST = 1e9;

/** The largest share that a suggested limit may deny. */
export interface Target {
  /** From 0 to 1. */
  readonly share: number;
  readonly of: 'requests' | 'clients';
}

/** What a limit denies. */
export interface Denials {
  readonly denied: number;
  readonly clientsDenied: number;
}

/** The smallest limit of an algorithm that denies at most the target. */
export type Suggestion = ReturnType<typeof suggest>;

/** The words of a rule after the limit. */
type Template = ReturnType<typeof templatesOf>[number];

/** The times of each client's requests, the clients with the most requests first. */
export type ClientTimes = readonly (readonly number[])[];

/** Returns what to search a limit for: each algorithm with each window of the rules, and the rules with options. */
export function templatesOf(rules: readonly string[]) {
  const given = rules.map((text) => {
    const { algorithm = '', window = '' } = fieldsOf(text, '--rule');
    const options = text.split(/\s+/).filter((word) => word.includes('='));
    return { algorithm, window, options: options.join(' ') }; // such as `burst=20`
  });
  const windows = rules.length === 0 ? ['1m'] : [...new Set(given.map(({ window }) => window))];
  const plain = windows.flatMap((window) =>
    Object.values(algorithms)
      .filter((algorithm) => !('leases' in algorithm))
      .filter((algorithm) => 'calendar' in algorithm || /\d/.test(window))
      .map(({ name }) => ({ algorithm: name, window, options: '' })),
  );
  return [...plain, ...given.filter(({ options, algorithm }) => options !== '' && algorithm !== '')];
}

/** Counts what a rule denies. Stops when it denies more than a maximum. */
export function denialsOf(rule: CompiledRule, clients: ClientTimes, most: Denials): Denials {
  let denied = 0;
  let clientsDenied = 0;
  for (const times of clients) {
    const counter = new ReplayedCounter();
    for (const time of times) counter.decide(rule, time);
    denied += counter.denied;
    if (counter.denied > 0) clientsDenied += 1;
    if (denied > most.denied || clientsDenied > most.clientsDenied) break;
  }
  return { denied, clientsDenied };
}

/** Searches the smallest limit of a rule that denies at most the target, by replays. */
export function suggest(template: Template, clients: ClientTimes, target: Target) {
  const { algorithm, window, options } = template;
  const text = (limit: number | string) => [`${limit}/${window}`, algorithm, options].join(' ').trim();
  const most = mostOf(clients, target);
  const within = (limit: number): Denials | undefined => {
    const rule = ifValid(() => readRule(text(limit)));
    if (rule === undefined) return undefined;
    // A client with fewer requests than the limit is not denied: they would all fit at once.
    const some = options === '' ? clients.filter(({ length }) => length > limit) : clients;
    const found = denialsOf(rule, some, most);
    return found.denied > most.denied || found.clientsDenied > most.clientsDenied ? undefined : found;
  };
  let high = Math.max(1, clients[0]?.length ?? 1);
  let best = within(high);
  // With a smaller burst, for example, the limit may have to exceed the number of requests.
  while (best === undefined && options !== '' && high < LARGEST)
    best = within((high = Math.min(LARGEST, high * 2)));
  // Each limit denies more.
  if (best === undefined) return { algorithm, rule: text('?'), limit: null, denied: 0, clientsDenied: 0 };
  for (let low = 1; low < high;) {
    const middle = Math.floor((low + high) / 2);
    const found = within(middle);
    if (found === undefined) low = middle + 1;
    else {
      high = middle;
      best = found;
    }
  }
  return { algorithm, rule: text(high), limit: high, ...best };
}

function mostOf(clients: ClientTimes, { share, of }: Target): Denials {
  const requests = clients.reduce((sum, times) => sum + times.length, 0);
  return of === 'requests'
    ? { denied: Math.floor(requests * share + 1e-9), clientsDenied: Infinity }
    : { denied: Infinity, clientsDenied: Math.floor(clients.length * share + 1e-9) };
}
