import { isFields } from './fields.js';

/** Fields whose values are masked in messages. */
const SECRET = /pass|secret|token|credential|^auth|^user(name)?$/i;

const LONGEST = 80;

/** Maximum number of characters of a text that are read, to mask a password. */
const LONGEST_READ = 1000;

/** Control and format characters, such as bidirectional controls; line separators; lone surrogates. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Returns text of clients and operators for a log or an error: on one line, with `\u202e` for what terminals obey. */
export function escaped(text: string): string {
  const unit = (each: string): string => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return text.replace(UNSAFE, (character) => character.split('').map(unit).join(''));
}

/**
 * Formats a given value for a message: as JSON if possible, with passwords masked, at most 80 characters long. It never
 * throws, and reads only the first parts of a large value.
 */
export function shown(value: unknown): string {
  try {
    return formatted(value);
  } catch {
    return 'a value that JSON cannot hold';
  }
}

/** Returns the message of an error; the value of anything else that a function of the application has thrown. */
export function messageOf(error: unknown): string {
  try {
    if (error instanceof Error) {
      const { message }: { message: unknown } = error;
      return typeof message === 'string' ? message : shown(message);
    }
  } catch {
    // A proxy, or a getter that throws.
  }
  return shown(error);
}

/** Returns the frames of a stack trace; an empty text if what was thrown has none. */
export function framesOf(error: unknown): string {
  try {
    const frames = (error as Error).stack!.split('\n').filter((line) => /^ +at /.test(line));
    return frames.map(escaped).join('\n');
  } catch {
    return '';
  }
}

function formatted(value: unknown): string {
  if (typeof value === 'function') return 'a function';
  if (isKindOfItsOwn(value)) return `a ${Object.prototype.toString.call(value).slice('[object '.length, -1)}`;
  if (typeof value === 'bigint') return short(`${value}n`);
  if (typeof value === 'symbol') return short(String(value));
  return short(typeof value === 'number' ? String(value) : printed(value));
}

function short(given: string): string {
  const text = escaped(given.slice(0, LONGEST + 1));
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}

/** Whether JSON omits the content of a value: of a Map, a Promise or an Error. */
function isKindOfItsOwn(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return typeof (value as { toJSON?: unknown }).toJSON !== 'function' && !isFields(value);
}

/** Masks the parts of a text that may be a user name or a password. */
export function withoutPassword(text: string): string {
  const masked = text
    .replace(/^(\w[\w+.-]*:\/\/)?.*@/s, '$1***@')
    .replace(/((?:password|username)=)[^&]*/gi, '$1***');
  return URL.canParse(masked) && new URL(masked).hostname !== '' ? masked : withoutColons(masked);
}

/** Masks what follows each colon unless it is a port: in a text that is not a URL, it may be a password. */
function withoutColons(text: string): string {
  return text.replace(/:(?!\/\/)([^/?#]*)/g, (found, rest: string, at: number) =>
    at > 0 && text[at - 1] !== '/' && /^\d{1,5}$/.test(rest) ? found : ':***',
  );
}

function printed(value: unknown): string {
  let left = 2 * LONGEST;
  return (
    JSON.stringify(value, (name, part) => (left-- > 0 ? replaced(name, part) : undefined)) ?? String(value)
  );
}

function replaced(name: string, value: unknown): unknown {
  if (SECRET.test(name) && typeof value !== 'object') return '***';
  if (Array.isArray(value)) return value.slice(0, LONGEST);
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
  if (typeof value !== 'string') return value;
  const text = value.slice(0, LONGEST_READ);
  return /@|:\/\//.test(text) ? withoutPassword(text) : text;
}
