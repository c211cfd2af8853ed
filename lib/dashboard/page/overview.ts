import { h } from 'preact';
import { useState } from 'preact/hooks';
import { RATE_S, type Snapshot, type SnapshotSecond, type SnapshotProcess } from '../snapshot.js';
import { LAST_HOUR, LAST_MINUTES, TrafficChart } from './charts.js';
import { clientText, figure, row, table } from './elements.js';
import { clock, milliseconds, percent, rate, count, duration, visible } from './figures.js';
import { useMarks } from './live-changes.js';

const SHARES = [
  ['store', 'Store'],
  ['cache', 'Cached denials'],
  ['prefetched', 'Prefetched permits'],
  ['fallback', 'Fallback'],
] as const;

/** Shows what concerns all rules: traffic, decisions and servers. */
export function Overview(snapshot: Snapshot) {
  const { latency, shares, servers, from } = snapshot;
  const store = { server: from === 'redis' ? 'Redis' : 'Memory of this process', state: 'closed' } as const;
  const part = ([name]: (typeof SHARES)[number]) =>
    h('span', { class: name, style: { flexGrow: String(shares[name]) }, hidden: shares[name] === 0 });
  const figures = SHARES.map(([name, text]) => pair(text, percent(shares[name]), name));
  return h('section', { class: 'overview', 'aria-label': 'All rules' }, [
    h(Traffic, snapshot),
    h('section', { class: 'card', 'aria-labelledby': 'decisions-title' }, [
      h('h2', { id: 'decisions-title' }, 'Decisions'),
      h('dl', { class: 'pairs' }, [
        pair('Median', latency ? milliseconds(latency.p50) : '–'),
        pair('99th percentile', latency ? milliseconds(latency.p99) : '–'),
      ]),
      h('div', { class: 'shares-bar', 'aria-hidden': true }, SHARES.map(part)),
      h('dl', { class: 'pairs' }, figures),
    ]),
    h('section', { class: 'card', 'aria-labelledby': 'store-title' }, [
      h('h2', { id: 'store-title' }, 'Store'),
      h('ul', { class: 'plain' }, (servers.length > 0 ? servers : [store]).map(serverItem)),
    ]),
  ]);
}

function Traffic(snapshot: Snapshot) {
  const { at, seconds, minutes, gaps, allUntil } = snapshot;
  const [reading, setReading] = useState('');
  const chart = { at, allUntil, marks: useMarks(snapshot), onPoint: setReading };
  const recent = seconds.filter((second) => second.at >= at - 1000 * (RATE_S + 1));
  const mean = (of: (second: SnapshotSecond) => number) =>
    recent.reduce((sum, each) => sum + of(each), 0) / Math.max(RATE_S, recent.length);
  const [allowed, denied] = [mean((each) => each.allowed), mean((each) => each.denied)];
  const share = denied / Math.max(allowed + denied, Number.MIN_VALUE);
  return h('section', { class: 'card traffic', 'aria-labelledby': 'traffic-title' }, [
    h('div', { class: 'card-head' }, [
      h('h2', { id: 'traffic-title' }, 'Requests per second'),
      allUntil !== null && h('p', null, `all processes until ${clock(allUntil)}`),
      h('p', { id: 'reading' }, reading),
    ]),
    h('dl', { class: 'totals' }, [
      pair('Allowed', rate(allowed), 'allowed', 'total-allowed'),
      pair('Denied', rate(denied), denied > 0 ? 'denied active' : 'denied', 'total-denied'),
      pair('Share denied', percent(share)),
    ]),
    h(TrafficChart, { ...chart, gaps, items: seconds, span: LAST_MINUTES }),
    h(TrafficChart, { ...chart, items: minutes, span: LAST_HOUR }),
  ]);
}

function pair(term: string, value: string, kind?: string, id?: string) {
  return h('div', { class: kind }, h('dt', null, term), h('dd', { id }, value));
}

function serverItem({ server, state }: Snapshot['servers'][number]) {
  const text = h('span', { class: 'state' }, STATES[state]);
  return h('li', { key: server, class: state }, [
    h('span', { class: 'dot' }),
    clientText(server || 'Redis'),
    text,
  ]);
}

/** What a breaker's state means for the reader. */
const STATES = {
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
  const silence = silent.length > 0 ? [{ text: silentText(snapshot!, silent), processes: [] }] : [];
  const items = [...silence, ...problems].map(({ text, processes: of }) =>
    h('li', { key: text }, of.length > 0 && [clientText(named(of)), ': '], visible(text)),
  );
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
    visible(version),
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
