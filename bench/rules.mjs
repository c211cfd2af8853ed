// One rule an algorithm and way of using it, each of 100 permits a day.
const quota = { name: 'login', limit: 100, window: '1d' };

/** `entries`: it keeps something for each hit. `permitsHeld`: it is entered, not consumed. */
export const RULES = [
  { name: 'fixed-window', rule: { ...quota, algorithm: 'fixed-window' } },
  {
    name: 'fixed-window, by the calendar',
    rule: { ...quota, window: 'day', algorithm: 'fixed-window', timeZone: 'Europe/Berlin' },
  },
  { name: 'sliding-window-log', rule: { ...quota, algorithm: 'sliding-window-log' }, entries: true },
  { name: 'sliding-window-counter', rule: { ...quota, algorithm: 'sliding-window-counter' } },
  { name: 'sliding-window-cells', rule: { ...quota, algorithm: 'sliding-window-cells' } },
  { name: 'token-bucket', rule: { ...quota, algorithm: 'token-bucket' } },
  { name: 'gcra', rule: { ...quota, algorithm: 'gcra' } },
  { name: 'leaky-bucket', rule: { ...quota, algorithm: 'leaky-bucket', queue: 99 } },
  {
    name: 'concurrency',
    rule: { name: 'login', limit: 100, algorithm: 'concurrency', lease: '1d' },
    entries: true,
    permitsHeld: true,
  },
];

/** Asks a limiter for permits of one of them, in the way in which it is used. */
export function hit(limiter, { rule, permitsHeld }, subject, options) {
  return permitsHeld ? limiter.hold(rule, subject, options) : limiter.consume(rule, subject, options);
}
