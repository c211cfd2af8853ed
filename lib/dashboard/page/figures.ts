const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const precise = new Intl.NumberFormat('en', { maximumSignificantDigits: 2 });
const time = new Intl.DateTimeFormat('en', { timeStyle: 'medium', hourCycle: 'h23' });
const moment = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short', hourCycle: 'h23' });

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
] as const;

/** Formats a count, such as `12,345`. */
export function count(value: number): string {
  return whole.format(value);
}

/** Formats a count of things, such as `1 request` and `2 requests`. */
export function counted(value: number, thing: string): string {
  return `${count(value)} ${thing}${value === 1 ? '' : 's'}`;
}

/** Formats a figure, such as a rate per second, with two digits below ten, so that a rare denial does not look like none. */
export function rate(value: number): string {
  return value < 10 ? precise.format(value) : whole.format(value);
}

/** Formats milliseconds. */
export function milliseconds(value: number): string {
  return `${rate(value)} ms`;
}

/** Formats a share of 1 as percents. A share that is not 0 is never shown as 0. */
export function percent(share: number): string {
  if (share > 0 && share < 0.001) return '< 0.1 %';
  return `${rate(share * 100)} %`;
}

/** Formats a duration in its largest unit, rounded down. */
export function duration(ms: number): string {
  const [name, size] = UNITS.find(([, each]) => ms >= each) ?? UNITS[3];
  return `${Math.floor(Math.max(0, ms) / size)} ${name}`;
}

/** Formats the time of the day. */
export function clock(at: number): string {
  return time.format(at);
}

/** Formats a date with its time. */
export function date(at: number): string {
  return moment.format(at);
}

/** Invisible characters: spaces, control characters, and marks that reorder or hide the text around them. */
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
