import { EVERYONE } from '../../../http/subject.js';
import type { Subject } from '../../../rules/key.js';

const HIDDEN = '•••';

/** Returns a subject with only its first and last characters: never its length, and at most a quarter of it. */
export function masked(subject: Subject): string {
  if (typeof subject !== 'string') return subject.map(masked).join(' | ');
  if (subject === EVERYONE || subject === '') return subject;
  const characters = Array.from(subject);
  const { length } = characters;
  if (length < 4) return HIDDEN;
  const first = characters.slice(0, length < 12 ? 1 : 2).join('');
  return length < 8 ? first + HIDDEN : first + HIDDEN + characters[length - 1]!;
}

/** Returns a subject as text. */
export function shownSubject(subject: Subject): string {
  return typeof subject === 'string' ? subject : subject.join(' | ');
}
