// Statistics over the rounds of one figure.

/** Returns the median; the mean of the two middle values for an even number. */
export function median(figures) {
  const sorted = figures.toSorted((one, other) => one - other);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Returns the value below which a part of a sorted list lies. */
export function percentile(sorted, part) {
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))];
}

/** Returns the spread of the rounds relative to their median: (highest - lowest) / median. */
export function spread(figures) {
  return (Math.max(...figures) - Math.min(...figures)) / median(figures);
}
