// Traffic to limit: instants in milliseconds since the start, with a precision of a microsecond, in order. The same
// seed always returns the same traffic.

/** Returns a generator of numbers from 0 to below 1 (mulberry32). */
export function seeded(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Returns independent hits, on average `load` times the limit. */
function poisson({ hits, limit, window, random, load }) {
  const mean = window / (limit * load);
  let at = 0;
  return Array.from({ length: hits }, () => (at += -Math.log(1 - random()) * mean));
}

/**
 * Returns bursts of up to twice the limit within a tenth of a window, each followed by a pause of up to two windows.
 */
function bursty({ hits, limit, window, random }) {
  const arrivals = [];
  for (let start = 0; arrivals.length < hits; start += random() * 2 * window) {
    const length = (0.02 + random() * 0.08) * window;
    const burst = Array.from(
      { length: 1 + Math.floor(random() * 2 * limit) },
      () => start + random() * length,
    );
    arrivals.push(...burst.sort((a, b) => a - b));
    start += length;
  }
  return arrivals.slice(0, hits);
}

/**
 * Returns a worst case for windows, repeated: one hit when a window begins, the full limit in its last twentieth,
 * then twice the limit spread over the next window, and a pause of two windows.
 */
function edgeOfWindow({ hits, limit, window, random }) {
  const arrivals = [];
  const some = (count, from, length) =>
    Array.from({ length: count }, () => from + random() * length).sort((a, b) => a - b);
  for (let edge = window; arrivals.length < hits; edge += 4 * window) {
    arrivals.push(edge - window + 0.001);
    arrivals.push(...some(limit, edge - window / 20, window / 20));
    arrivals.push(...some(2 * limit, edge, window));
  }
  return arrivals.slice(0, hits);
}

const toMicroseconds = (arrivals) => arrivals.map((at) => Math.round(at * 1000) / 1000);

/** The kinds of traffic by their names in tables. */
export const TRAFFIC = {
  'Poisson at 80 %': (options) => toMicroseconds(poisson({ ...options, load: 0.8 })),
  'Poisson at 120 %': (options) => toMicroseconds(poisson({ ...options, load: 1.2 })),
  'Poisson at 300 %': (options) => toMicroseconds(poisson({ ...options, load: 3 })),
  'bursts and pauses': (options) => toMicroseconds(bursty(options)),
  'edge of the window': (options) => toMicroseconds(edgeOfWindow(options)),
};
