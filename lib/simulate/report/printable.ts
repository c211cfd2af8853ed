import { escaped } from '../../contracts/shown.js';

const LONGEST = 60;

/** Returns text of a log with control and bidirectional characters as `\u202e`, at most 60 characters long. */
export function printable(text: string, longest = LONGEST): string {
  const cut = text.length > longest ? `${text.slice(0, longest)}…` : text;
  return escaped(cut);
}

/** Formats a count: `1,234,567`. */
export function count(value: number): string {
  return value.toLocaleString('en-US');
}

/** Formats a part of a whole: `0.12 %`. */
export function percent(part: number, whole: number): string {
  const share = whole === 0 ? 0 : (part / whole) * 100;
  const digits = share > 0 && share < 0.01 ? 4 : 2;
  return `${share.toFixed(digits)} %`;
}

/** Formats an ISO time in words: `2025-10-10 13:55:36 UTC`. */
export function instant(iso: string): string {
  return `${iso.slice(0, 19).replace('T', ' ')} UTC`;
}
