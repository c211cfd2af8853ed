/** Characters without a shape of their own, some of which reorder or hide others. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu;

/**
 * Returns a text of a client with control characters and marks of direction as escapes, such as `\u{202e}`, so that one
 * subject cannot look like another.
 */
export function visible(text: string): string {
  return text.replace(INVISIBLE, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`);
}

/** Returns a value in words: JSON unless it is a text. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
