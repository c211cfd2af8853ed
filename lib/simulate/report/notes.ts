import type { Simulation } from '../simulate.js';
import { count, instant, printable } from './printable.js';

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
