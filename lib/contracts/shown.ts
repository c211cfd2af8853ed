/** Names of fields whose values are in no message. */
const SECRET = /pass|secret|token|credential|^auth|^user(name)?$/i;

const LONGEST = 80;

/** A value that was given, for a message: as JSON where that is possible, shortened, and without passwords. */
export function shown(value: unknown): string {
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'bigint' || typeof value === 'symbol') return String(value);
  const text = typeof value === 'number' ? String(value) : printed(value);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}

/** A text without what may be a user name or a password in it. */
export function withoutPassword(text: string): string {
  const masked = text
    .replace(/^(\w[\w+.-]*:\/\/)?.*@/s, '$1***@')
    .replace(/((?:password|username)=)[^&]*/gi, '$1***');
  return URL.canParse(masked) && new URL(masked).hostname !== '' ? masked : withoutColons(masked);
}

/** In what is no URL, all but a port may be a password behind a colon. */
function withoutColons(text: string): string {
  return text.replace(/:(?!\/\/)([^/?#]*)/g, (found, rest: string, at: number) =>
    at > 0 && text[at - 1] !== '/' && /^\d{1,5}$/.test(rest) ? found : ':***',
  );
}

function printed(value: unknown): string {
  try {
    return JSON.stringify(value, replaced) ?? String(value);
  } catch {
    return 'a value that JSON cannot hold';
  }
}

function replaced(name: string, value: unknown): unknown {
  if (SECRET.test(name) && typeof value !== 'object') return '***';
  return typeof value === 'string' && /@|:\/\//.test(value) ? withoutPassword(value) : value;
}
