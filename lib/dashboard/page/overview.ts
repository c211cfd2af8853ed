import { h } from 'preact';
import { useState } from 'preact/hooks';
import type { Snapshot, SnapshotSecond } from '../snapshot.js';
import { LAST_HOUR, LAST_MINUTES, TrafficChart } from './charts.js';
import { clientText } from './elements.js';
import { clock, milliseconds, percent, rate } from './figures.js';
import { useMarks } from './history.js';
import { STATES } from './processes.js';

/** Seconds whose mean the totals show, as those of the rules do. */
const RECENT = 10;

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
  const recent = seconds.filter((second) => second.at >= at - 1000 * (RECENT + 1));
  const mean = (of: (second: SnapshotSecond) => number) =>
    recent.reduce((sum, each) => sum + of(each), 0) / Math.max(RECENT, recent.length);
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
