import { h } from 'preact';
import type { Snapshot } from '../snapshot.js';
import type { SnapshotProcess } from '../snapshot-process.js';
import { clientText, figure, row, table } from './elements.js';
import { clock, count, duration, percent } from './figures.js';
import { visible } from './visible-text.js';

/** What a breaker's state means for the reader. */
export const STATES = {
  closed: 'deciding',
  open: 'breaker open: the fallback decides',
  'half-open': 'breaker half open: probing',
} as const;

/** Processes that are named in a problem. */
const MOST_NAMED = 3;
/** Versions above are times in microseconds. */
const LEAST_TIME = 1e15;

/** Shows what is wrong in any process, before all else. */
export function Problems({ snapshot }: { snapshot: Snapshot | undefined }) {
  const { problems = [], processes = [] } = snapshot ?? {};
  const silent = processes.filter(({ silentSince }) => silentSince !== null);
  const item = (text: string, of: readonly string[]) =>
    h('li', { key: text }, of.length > 0 && [clientText(named(of)), ': '], visible(text));
  const items = problems.map(({ text, processes: of }) => item(text, of));
  if (silent.length > 0) items.unshift(item(silentText(snapshot!, silent), []));
  const list = h('ul', { tabIndex: 0, 'aria-label': 'Problems' }, items);
  return h('div', { id: 'problems', role: 'status', hidden: items.length === 0 }, list);
}

function named(processes: readonly string[]): string {
  const more = processes.length - MOST_NAMED;
  return processes.slice(0, MOST_NAMED).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

function silentText(snapshot: Snapshot, silent: readonly SnapshotProcess[]): string {
  const since = silent.map(
    ({ host, pid, silentSince }) => `${host} ${pid} silent since ${clock(silentSince!)}`,
  );
  return `${totalOf(snapshot)}: ${named(since)}`;
}

/** How many processes there are, and how many of them report, if that differs. */
function totalOf({ alive, processes }: Snapshot): string {
  const reporting = processes.filter(({ silentSince }) => silentSince === null).length;
  if (alive <= 1 && reporting === 1) return '1 process';
  const differs = alive > reporting || reporting < processes.length;
  return differs ? `${count(alive)} alive, ${count(reporting)} report` : `${count(reporting)} processes`;
}

const HEADS = ['Process', 'Version', 'Up', 'Redis', 'Fallback', 'Live rules', 'Last report'];

/** Shows each process: those with a problem first. */
export function Processes(snapshot: Snapshot) {
  const { processes, from } = snapshot;
  const newest = Math.max(0, ...processes.map(liveVersion));
  const sorted = [...processes].sort(
    (one, other) => troubleOf(other) - troubleOf(one) || (nameOf(one) < nameOf(other) ? -1 : 1),
  );
  const heads = HEADS.map((head) => (head === 'Redis' && from === 'memory' ? 'Store' : head));
  const rows = sorted.map((each) => processRow(each, newest));
  const scrolled = { class: 'scrolled', tabIndex: 0, role: 'region', 'aria-labelledby': 'processes-title' };
  return h('section', { class: 'card processes', 'aria-labelledby': 'processes-title' }, [
    h('h2', { id: 'processes-title' }, totalOf(snapshot)),
    h('div', scrolled, table({ caption: 'Processes', heads }, rows)),
  ]);
}

function processRow(process: SnapshotProcess, newest: number) {
  const { id, version, since, circuit, fallback, liveRules, silentSince } = process;
  const bad = (isBad: boolean, text: string) => h('td', { class: isBad ? 'bad' : '' }, text);
  const cells = [
    visible(version ?? 'another'),
    duration(Date.now() - since),
    bad(circuit !== null && circuit !== 'closed', circuit === null ? 'memory' : STATES[circuit]),
    figure(percent(fallback), fallback > 0 ? 'bad' : ''),
    bad(liveVersion(process) < newest, versionText(liveRules)),
    bad(silentSince !== null, silentSince === null ? 'now' : `silent since ${clock(silentSince)}`),
  ];
  return row(clientText(nameOf(process)), cells, { key: id, class: silentSince === null ? '' : 'silent' });
}

function liveVersion({ liveRules }: SnapshotProcess): number {
  return Number.parseInt(liveRules) || 0;
}

/** A version of a Redis source is a time. */
function versionText(version: string): string {
  const [number = ''] = version.split(' ');
  return Number(number) > LEAST_TIME
    ? `of ${clock(Number(number) / 1000)}`
    : visible(number.slice(0, 20)) || '–';
}

function nameOf({ host, pid }: SnapshotProcess): string {
  return `${host} ${pid}`;
}

function troubleOf({ silentSince, circuit, fallback }: SnapshotProcess): number {
  const isBroken = circuit !== null && circuit !== 'closed';
  return (silentSince === null ? 0 : 4) + (isBroken ? 2 : 0) + (fallback > 0 ? 1 : 0);
}
