// Formats the figures in the tables of the benchmarks.

/** Formats a figure with three significant digits, without the exponent of `toPrecision`. */
export function threeDigits(figure) {
  if (figure === 0) return '0';
  const value = Number(figure.toPrecision(3)); // 9.996 is 10.0, and 999.6 is 1,000.
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return value >= 1000 ? thousands(value) : value.toFixed(Math.min(digits, 3));
}

/** Formats a large figure with thousands separators, rounded to three digits. */
export function thousands(value) {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(1, value))) - 2);
  return count(Math.round(value / unit) * unit);
}

/** Formats a count with thousands separators. */
export function count(value) {
  return value.toLocaleString('en-US');
}

export const percent = (share, digits = 0) => `${(share * 100).toFixed(digits)} %`;

export const times = (ratio) => (ratio === undefined ? '' : `${threeDigits(ratio)} x`);

const micros = (value) => (value === undefined ? '' : threeDigits(value));

/** The columns of every limiter. */
export const FIGURES = {
  'decisions/s': (row) => thousands(row.perSecond),
  spread: (row) => percent(row.spread),
  'client µs': (row) => micros(row.clientMicros),
  'server µs': (row) => micros(row.serverMicros),
  'p50 µs': (row) => micros(row.p50),
  'p99 µs': (row) => micros(row.p99),
};
