// Checks a history of requests against the guarantees in docs/reliability.md. It imports nothing from the library. Its
// bounds of the algorithms are those of the documentation.
//
//   node check-history.mjs history.jsonl     prints the violations, and exits with 1 if there are any
//
// A history has one JSON object per line. `at` and the other instants are milliseconds of one clock:
//
//   { kind: 'processes', count, known }      the number of processes that share the limits, and the number that each of
//                                            them has counted before the fault ends, all unless given
//   { kind: 'rule', rule, limit, windowMs, leaseMs, blockMs, prefetch, fallback }
//                                     at most `limit` permits in any window of `windowMs`; without it, held at a time,
//                                     for `leaseMs` unless they are renewed.
//                                     `blockMs`: how long a denial blocks. `prefetch: { permits, ttlMs }`: as in a rule.
//                                     `waits`: requests wait for permits. `windows`: how many of the rule's windows one
//                                     window may overlap, 1 unless given. `burst`: permits at once of a rule that allows
//                                     at its rate, for whose waits it denies
//                                     `fallback`: 'local' (unless given), 'allow' or 'deny'
//   { kind: 'request', process, rule, subject, permit, cost, sentAt, answeredAt, allowed, source }
//                                     a request of several rules has one line for each, with the same name in `together`;
//                                     then `allowed` is the result of the rule, and `refused` whether any rule denied
//   { kind: 'settle', process, rule, subject, permit, sentAt, endedAt, cost }
//                                     replaced the cost of the request with this name
//   { kind: 'return', process, rule, subject, permit, sentAt, endedAt, made }
//                                     a release or a refund of the permits of the request with this name; `made`: the
//                                     result of the refund
//   { kind: 'fault', from, to, lost, clock, servers }
//                                     `lost: { from, to, subjects }`: Redis may have lost the charges of this time, of
//                                     these subjects or of all. `clock: { ahead, steps }`: the largest step of the clock
//                                     in milliseconds, and the number of steps forward. `servers`: how many decide, 1
//                                     unless given
//   { kind: 'report', process, at, event: 'storeError', isCut }
//                                     a call failed or was lost, with the end of its connection if `isCut`; other reports
//                                     are not checked
//   { kind: 'charged', rule, subject, at, used }     the charged permits in Redis after all requests
import { readFileSync } from 'node:fs';
import { argv, exit } from 'node:process';
import { fileURLToPath } from 'node:url';
import { byFallback, byRedis } from './charges.mjs';
import { checkBlocks } from './check-blocks.mjs';
import { checkCharged, checkReturns } from './check-charged.mjs';
import { checkLimit } from './check-limit.mjs';
import { checkTogether } from './check-together.mjs';
import { Fault } from './fault-bounds.mjs';
import { LostCalls } from './lost-calls.mjs';

/** Returns the lines of a history as objects. */
export function parseHistory(text) {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

/** Returns every violation in a history, one sentence each. */
export function violationsIn(history) {
  const fault = new Fault(history.find(({ kind }) => kind === 'fault'));
  const { count: processes = 1, known = processes } = history.find(({ kind }) => kind === 'processes') ?? {};
  const lostCalls = new LostCalls(history, fault);
  const rules = history.filter(({ kind }) => kind === 'rule');
  const ofEach = rules.flatMap((rule) =>
    subjectsOf(rule, history).flatMap((lines) => {
      const of = { rule, lines, fault, lostCalls, processes, known };
      const sides = [byRedis(of), ...byFallback(of)];
      return [
        ...sides.flatMap(checkLimit),
        ...sides.flatMap(checkBlocks),
        ...checkCharged(of),
        ...checkReturns(of),
      ];
    }),
  );
  return [...checkTogether(history), ...ofEach];
}

/** Returns the lines of a rule, grouped by subject. */
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
