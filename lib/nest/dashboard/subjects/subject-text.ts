import type { Subject } from '../../../rules/subject.js';

/** Maximum length of a subject that the page lists. */
const LONGEST = 256;

/** Returns a text for a subject, another for each; `undefined` if it is too long to be listed. */
export function subjectText(subject: Subject): string | undefined {
  const text =
    typeof subject === 'string' && !subject.startsWith('\0') ? subject : `\0${JSON.stringify(subject)}`;
  return text.length > LONGEST ? undefined : text;
}

/** Returns the subject of a text. */
export function subjectOfText(text: string): Subject {
  return text.startsWith('\0') ? (JSON.parse(text.slice(1)) as Subject) : text;
}
