import { escaped } from '../../contracts/shown.js';
import type { Simulation } from '../simulate.js';

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

/** Returns the lines of a report about the log, without those about the rules. */
export function summaryOf(simulation: Simulation): readonly string[] {
  const { files, requests, by, from, to, rules } = simulation;
  const clients = rules[0] ? ` of ${count(rules[0].clients)} clients (--by ${printable(by)})` : '';
  const period = from && to ? `, ${instant(from)} to ${instant(to)}` : '';
  const names = files.map((file) => printable(file === '-' ? 'standard input' : file)).join(', ');
  return [`${names}: ${count(requests)} requests${clients}${period}`];
}

/** Returns the lines of a report about what was not decided, or not exactly. */
export function notesOf(simulation: Simulation): readonly string[] {
  const { malformed, firstMalformed, withoutSubject, late, latestBySeconds, dropped, by } = simulation;
  const notes: string[] = [];
  if (malformed > 0) {
    notes.push(`${count(malformed)} malformed lines were skipped:`);
    for (const { file, line, text } of firstMalformed.slice(0, 3)) {
      notes.push(`  ${printable(file)}:${line}: ${printable(text)}`);
    }
  }
  if (withoutSubject > 0) {
    notes.push(`${count(withoutSubject)} requests without ${printable(by)} were not decided.`);
  }
  if (late > 0) {
    const by = latestBySeconds < 1 ? '' : `, up to ${count(latestBySeconds)} s`;
    notes.push(`${count(late)} lines are out of order${by}: decided at the largest time before them.`);
  }
  if (dropped > 0) {
    notes.push(
      `${count(dropped)} clients were dropped from memory and are counted again if they returned; a larger --max-clients keeps them.`,
    );
  }
  return notes;
}
