// What the benches make of several rounds of one figure.

/** The middle one, or the mean of the two in the middle. */
export function median(figures) {
  const sorted = figures.toSorted((one, other) => one - other);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** The figure below which a part of all lie; of a sorted list. */
export function percentile(sorted, part) {
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))];
}

/** How far the rounds are apart, as a part of their median: (highest - lowest) / median. */
export function spread(figures) {
  return (Math.max(...figures) - Math.min(...figures)) / median(figures);
}
