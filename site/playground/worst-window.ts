/** The place with the most requests. All times are in microseconds. */
export interface Worst {
  readonly count: number;
  readonly from: number;
  readonly until: number;
}

/**
 * Returns the window of a length with the most instants, the first of several. A window includes its start and
 * excludes its end.
 *
 * @param instants sorted
 */
export function worstWindow(instants: readonly number[], length: number): Worst | undefined {
  let worst: Worst | undefined;
  let end = 0;
  for (const [start, from] of instants.entries()) {
    while (end < instants.length && instants[end]! < from + length) end += 1;
    if (end - start > (worst?.count ?? 0)) worst = { count: end - start, from, until: from + length };
  }
  return worst;
}

/** Returns when the most of some spans overlap. A span includes its start and excludes its end. */
export function mostAtOnce(
  spans: readonly { readonly from: number; readonly until: number }[],
): Worst | undefined {
  let worst: Worst | undefined;
  for (const { from } of spans) {
    const open = spans.filter((span) => span.from <= from && span.until > from);
    if (open.length <= (worst?.count ?? 0)) continue;
    worst = { count: open.length, from, until: Math.min(...open.map(({ until }) => until)) };
  }
  return worst;
}
