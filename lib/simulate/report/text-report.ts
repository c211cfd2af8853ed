import type { RuleResult, Simulation } from '../simulate.js';
import type { Target } from '../suggest.js';
import { notesOf, summaryOf, count, instant, percent, printable, targetText } from './notes.js';

/** Returns the report for a terminal. */
export function textReport(simulation: Simulation, target: Target | undefined): string {
  const { rules, suggestions } = simulation;
  const parts = [summaryOf(simulation).join('\n')];
  if (rules.length > 0) parts.push(table(ruleRows(rules)));
  if (target) {
    parts.push(
      `Smallest limits that deny at most ${targetText(target)}:\n${table(suggestionRows(simulation))}`,
    );
    if (suggestions.length === 0) parts.push('No requests, no suggestion.');
  }
  const notes = notesOf(simulation);
  if (notes.length > 0) parts.push(notes.join('\n'));
  return parts.join('\n\n');
}

function ruleRows(rules: readonly RuleResult[]): readonly (readonly string[])[] {
  const isDelayed = rules.some(({ delayed }) => delayed > 0);
  const head = [
    ...['rule', 'allowed', ...(isDelayed ? ['delayed'] : []), 'denied', ''],
    ...['clients denied', 'worst client', 'worst second'],
  ];
  const rows = rules.map((result) => {
    const [worst] = result.worstClients;
    const { worstSecond } = result;
    return [
      printable(result.rule),
      count(result.allowed),
      ...(isDelayed ? [count(result.delayed)] : []),
      count(result.denied),
      percent(result.denied, result.requests),
      `${count(result.clientsDenied)} of ${count(result.clients)}`,
      worst ? `${printable(worst.client)} (${count(worst.denied)} of ${count(worst.requests)})` : '-',
      worstSecond ? `${instant(worstSecond.at)} (${count(worstSecond.denied)})` : '-',
    ];
  });
  return [head, ...rows];
}

function suggestionRows({ suggestions, requests }: Simulation): readonly (readonly string[])[] {
  const rows = suggestions.map(({ rule, limit, denied, clientsDenied }) =>
    limit === null
      ? [printable(rule), 'no limit denies so few', '', '']
      : [printable(rule), count(denied), percent(denied, requests), count(clientsDenied)],
  );
  return [['rule', 'denied', '', 'clients denied'], ...rows];
}

/** Aligns the cells of columns. */
function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_cell, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
