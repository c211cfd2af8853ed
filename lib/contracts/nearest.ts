/**
 * Returns the allowed word that a misspelled one is closest to, in lower case; `undefined` if more than a
 * third of its characters are wrong.
 */
export function nearest(misspelled: string, words: readonly string[]): string | undefined {
  if (misspelled.length > 64) return undefined;
  const measured = words
    .map((word) => ({ word, edits: editsBetween(misspelled.toLowerCase(), word.toLowerCase()) }))
    .filter(({ word, edits }) => edits <= Math.max(1, Math.floor(word.length / 3)));
  return measured.sort((a, b) => a.edits - b.edits)[0]?.word;
}

/** Returns the fix of a misspelled word, such as `did you mean "limit"?`; `undefined` if none is close. */
export function didYouMean(misspelled: string, words: readonly string[]): string | undefined {
  const meant = nearest(misspelled, words);
  return meant === undefined ? undefined : `did you mean "${meant}"?`;
}

/**
 * Returns the number of characters to insert, delete, replace or swap with the next one (optimal string
 * alignment).
 */
export function editsBetween(from: string, to: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const isSame = from[row - 1] === to[column - 1];
      const isSwap = row > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      current.push(
        Math.min(
          previous[column]! + 1,
          current[column - 1]! + 1,
          previous[column - 1]! + (isSame ? 0 : 1),
          isSwap ? before[column - 2]! + 1 : Infinity,
        ),
      );
    }
    [before, previous] = [previous, current];
  }
  return previous[to.length]!;
}
