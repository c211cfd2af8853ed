import { EVERYONE } from '../../http/subject.js';
import { SubjectDigest, type SubjectValue } from '../../rules/subject-digest.js';

const HIDDEN = '•••';

/** Returns a subject with only its first and last characters: never its length, and at most a quarter of it. */
export function masked(subject: SubjectValue): string {
  if (Array.isArray(subject)) return subject.map(masked).join(' | ');
  if (subject instanceof SubjectDigest) {
    const { head, digest } = subject;
    return (head === '' ? `#${digest.slice(0, 4)}` : Array.from(head).slice(0, 2).join('')) + HIDDEN;
  }
  if (subject === EVERYONE || subject === '') return subject;
  const characters = Array.from(String(subject));
  const { length } = characters;
  if (length < 4) return HIDDEN;
  const first = characters.slice(0, length < 12 ? 1 : 2).join('');
  return length < 8 ? first + HIDDEN : first + HIDDEN + characters[length - 1]!;
}

/** Returns a subject as text. */
export function shownSubject(subject: SubjectValue): string {
  return Array.isArray(subject) ? subject.map(String).join(' | ') : String(subject);
}
