// Checks a history of requests against the promises of docs/reliability.md. It imports nothing of the library: what
// it knows of an algorithm is the bound that the documentation states.
//
//   node check-history.mjs history.jsonl     prints the violations, and exits with 1 if there are any
//
// A history is one JSON object a line; `at` and the other instants are milliseconds of one clock:
//
//   { kind: 'rule', rule, type, limit, windowMs }    type: 'any-window' (at most `limit` in any window of `windowMs`) or
//                                                    'held' (at most `limit` held at a time)
//   { kind: 'request', process, rule, subject, permit, sentAt, answeredAt, allowed, source }
//   { kind: 'release', process, rule, subject, permit, sentAt, endedAt }    `permit` names the request that took it
//   { kind: 'fault', from, to, forgets, fallback }   while it was on Redis may not have decided; `forgets`: Redis lost
//                                                    its state; `fallback`: the most that all processes together may
//                                                    allow a subject by the fallback, for a rule of limit L: 'L', or a number
//   { kind: 'report', process, at, event: 'storeError' }    a call failed or was lost; other reports are not looked at
//   { kind: 'charged', rule, subject, at, used }     permits that Redis had charged, read when all was quiet
import { readFileSync } from 'node:fs';
import { argv, exit } from 'node:process';
import { fileURLToPath } from 'node:url';
import { checkHeld } from './check-held.mjs';
import { checkWindows } from './check-windows.mjs';
import { LostCalls } from './lost-calls.mjs';

/** The lines of a history as objects. */
export function parseHistory(text) {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

/** Every promise that a history breaks, one sentence each. */
export function violationsIn(history) {
  const faults = history.filter(({ kind }) => kind === 'fault');
  const lostCalls = new LostCalls(history);
  const rules = history.filter(({ kind }) => kind === 'rule');
  return rules.flatMap((rule) => {
    const check = rule.type === 'held' ? checkHeld : checkWindows;
    return subjectsOf(rule, history).flatMap((lines) => check(rule, lines, faults, lostCalls));
  });
}

/** The lines of a rule, a list for each subject. */
function subjectsOf({ rule }, history) {
  const bySubject = new Map();
  for (const line of history) {
    if (line.rule !== rule || line.kind === 'rule') continue;
    const lines = bySubject.get(line.subject);
    if (lines) lines.push(line);
    else bySubject.set(line.subject, [line]);
  }
  return [...bySubject.values()];
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  const violations = violationsIn(parseHistory(readFileSync(argv[2], 'utf8')));
  for (const violation of violations) console.error(violation);
  console.log(`${violations.length} violations`);
  exit(violations.length > 0 ? 1 : 0);
}
