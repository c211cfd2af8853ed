import { escaped } from '../../contracts/shown.js';
import { DEFAULT_ALGORITHM } from '../../rules/rule.js';
import type { RuleResult, Simulation } from '../simulate.js';
import type { Target } from '../suggest.js';

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

/** Returns the line of a report about the log. */
export function summaryOf(simulation: Simulation): string {
  const { files, requests, by, from, to, rules } = simulation;
  const clients = rules[0] ? ` of ${count(rules[0].clients)} clients (--by ${printable(by)})` : '';
  const names = files.map((file) => printable(file === '-' ? 'standard input' : file)).join(', ');
  return `${names}: ${count(requests)} requests${clients}, ${instant(from)} to ${instant(to)}`;
}

/** Formats the share that a limit may deny: `0.1 % of requests`. */
function targetText({ share, of }: Target): string {
  return `${Number((share * 100).toPrecision(12))} % of ${of}`;
}

/** Returns the suggested limit in one sentence and the reason for it, or no line without a suggestion. */
export function verdictOf({ suggestions, requests, by }: Simulation, target: Target | undefined) {
  const found = suggestions.filter(({ limit }) => limit !== null);
  const best = found.find(({ algorithm }) => algorithm === DEFAULT_ALGORITHM) ?? found[0];
  if (!best || !target) return [];
  const each = by === 'everyone' ? 'all clients together' : 'each client';
  return [
    `Suggested limit: ${count(best.limit!)} requests in ${windowOf(best.rule)} for ${each}, the smallest one that denies at most ${targetText(target)}: in this log it denies ${count(best.denied)} of ${count(requests)} requests (${percent(best.denied, requests)}), of ${count(best.clientsDenied)} clients.`,
  ];
}

/** Returns the window of a rule in words: `1 minute` for `100/1m`. */
function windowOf(rule: string): string {
  const [, text = ''] = /\/(\S+)/.exec(rule) ?? [];
  const units = { ms: 'millisecond', s: 'second', m: 'minute', h: 'hour', d: 'day', w: 'week' };
  return text.replace(
    /^(\d+)(ms|[smhdw])$/,
    (_, number: string, unit: keyof typeof units) => `${number} ${units[unit]}${number === '1' ? '' : 's'}`,
  );
}

function proxyNote({ proxy, requests: all }: Simulation): readonly string[] {
  if (!proxy) return [];
  const { client, requests, forwarded } = proxy;
  const fix = forwarded
    ? `its clients are in the field ${printable(forwarded)}: write --map ip=${printable(forwarded)}`
    : 'the log has no field with the forwarded address';
  return [
    `Warning: ${client}, a private address, sent ${percent(requests, all)} of the requests. It is probably a proxy; ${fix}.`,
  ];
}

function counted(number: number, one: string, several: string): string {
  return `${count(number)} ${number === 1 ? one : several}`;
}

/** Returns the lines of a report about what was not decided, or not exactly. */
export function notesOf(simulation: Simulation): readonly string[] {
  const { malformed, firstMalformed, withoutSubject, late, latestBySeconds, dropped, by } = simulation;
  const notes = [...proxyNote(simulation)];
  if (malformed > 0) {
    notes.push(`${counted(malformed, 'malformed line was', 'malformed lines were')} skipped:`);
    for (const { file, line, text, reason } of firstMalformed.slice(0, 3)) {
      notes.push(`  ${printable(file)}:${line}: ${printable(text)} (${printable(reason)})`);
    }
  }
  if (withoutSubject > 0) {
    notes.push(`${count(withoutSubject)} requests without ${printable(by)} were not decided.`);
  }
  if (late > 0) {
    const by = latestBySeconds < 1 ? '' : `, up to ${count(latestBySeconds)} s`;
    notes.push(
      `${counted(late, 'line is', 'lines are')} out of order${by}: decided at the largest time before them.`,
    );
  }
  if (dropped > 0) {
    notes.push(
      `${counted(dropped, 'client was', 'clients were')} dropped from memory, and counted again after a return; a larger --max-clients prevents this.`,
    );
  }
  return notes;
}

/** Returns the report for a terminal. */
export function textReport(simulation: Simulation, target: Target | undefined): string {
  const { rules } = simulation;
  const parts = [summaryOf(simulation)];
  if (rules.length > 0) parts.push(table(ruleRows(rules)));
  if (target) parts.push(`${suggestionTitle(target)}:\n${table(suggestionRows(simulation))}`);
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

export function suggestionTitle(target: Target): string {
  return `Smallest limits that deny at most ${targetText(target)}`;
}

/** Returns the rows of the table of suggestions, the head first. */
export function suggestionRows({ suggestions, requests }: Simulation): readonly (readonly string[])[] {
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
  const padded = (row: readonly string[]) => row.map((cell, column) => cell.padEnd(widths[column]!));
  return rows.map((row) => padded(row).join('  ').trimEnd()).join('\n');
}
