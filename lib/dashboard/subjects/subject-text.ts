import { joined, type Subject } from '../../rules/subject.js';

/** Begins the text of a list, and of a subject that begins with this character. */
const MARKER = '\0';

/** Returns a text for a subject, another for each. It is about as long as the subject, which is bounded. */
export function subjectText(subject: Subject): string {
  if (typeof subject !== 'string') return MARKER + joined(subject);
  return subject.startsWith(MARKER) ? MARKER + subject : subject;
}

/** Returns the subject of a text. */
export function subjectOfText(text: string): Subject {
  if (!text.startsWith(MARKER)) return text;
  return text.startsWith(MARKER, 1) ? text.slice(1) : partsOf(text.slice(1));
}

/** Reads the parts of a list that `joined` has written. */
function partsOf(text: string): readonly string[] {
  const parts: string[] = [];
  for (let at = 0; at < text.length;) {
    const start = text.indexOf('|', at) + 1;
    const end = start + Number(text.slice(at, start - 1));
    parts.push(text.slice(start, end));
    at = end + 1;
  }
  return parts;
}
