import type { Snapshot, SnapshotProcess, SnapshotSecond } from '../snapshot.js';
import { byId, element, setAttribute, setText } from './element.js';
import { count, duration, milliseconds, percent, rate } from './figures.js';
import { KeyedList, type Row } from './keyed-list.js';
import { visible } from './visible-text.js';

/** Seconds whose mean the totals show, as those of the rules do. */
const RECENT = 10;

const SHARES = [
  ['store', 'Store'],
  ['cache', 'Cached denials'],
  ['prefetched', 'Prefetched permits'],
  ['fallback', 'Fallback'],
] as const;

/** What a breaker's state means for the reader. */
const STATES = {
  closed: 'deciding',
  open: 'breaker open: the fallback decides',
  'half-open': 'breaker half open: probing',
} as const;

type Server = Snapshot['servers'][number];

/** Shows what concerns all rules, besides the chart: totals, decisions, servers and processes. */
export class Overview {
  private readonly servers = new KeyedList<Server>(byId('servers'), ({ server }) => server, serverRow);
  private readonly processes = new KeyedList<SnapshotProcess>(byId('processes'), ({ id }) => id, processRow);
  private readonly latency = new Pairs(byId('latency'));
  private readonly shares = new Pairs(byId('shares'));
  private readonly bar = SHARES.map(([name]) => element('span', { class: name }));

  constructor() {
    byId('shares-bar').append(...this.bar);
  }

  update(snapshot: Snapshot): void {
    this.showTotals(snapshot);
    this.showDecisions(snapshot);
    const { servers, processes, from } = snapshot;
    const store: Server = { server: from === 'redis' ? 'Redis' : 'Memory of this process', state: 'closed' };
    this.servers.update(servers.length > 0 ? servers : [store]);
    this.processes.update(processes);
    setText(
      byId('processes-title'),
      processes.length === 1 ? '1 process' : `${count(processes.length)} processes`,
    );
  }

  private showTotals({ at, rules, seconds }: Snapshot): void {
    const recent = seconds.filter((second) => second.at >= at - 1000 * (RECENT + 1));
    const mean = (of: (second: SnapshotSecond) => number) =>
      recent.reduce((sum, each) => sum + of(each), 0) / Math.max(RECENT, recent.length);
    const [allowed, denied] = [mean((each) => each.allowed), mean((each) => each.denied)];
    setText(byId('total-allowed'), rate(allowed));
    setText(byId('total-denied'), rate(denied));
    setText(byId('total-share'), percent(denied / Math.max(allowed + denied, Number.MIN_VALUE)));
    byId('total-denied').parentElement?.classList.toggle('active', denied > 0);
    byId('no-rules').textContent =
      rules.length === 0 ? 'The application has no rules yet.' : 'No rule matches.';
  }

  private showDecisions({ latency, shares }: Snapshot): void {
    this.latency.update([
      ['Median', latency ? milliseconds(latency.p50) : '–'],
      ['99th percentile', latency ? milliseconds(latency.p99) : '–'],
    ]);
    this.shares.update(SHARES.map(([name, text]) => [text, percent(shares[name]), name]));
    SHARES.forEach(([name], index) => {
      const part = this.bar[index]!;
      part.style.flexGrow = String(shares[name]);
      part.hidden = shares[name] === 0;
    });
  }
}

/** Terms with their values. */
class Pairs {
  private readonly list: KeyedList<readonly [term: string, value: string, kind?: string]>;

  constructor(parent: Element) {
    this.list = new KeyedList(
      parent,
      ([term]) => term,
      ([term, , kind]) => {
        const value = element('dd');
        const node = element('div', { class: kind ?? '' }, element('dt', {}, term), value);
        return { node, update: (item) => setText(value, item[1]) };
      },
    );
  }

  update(pairs: readonly (readonly [string, string, string?])[]): void {
    this.list.update(pairs);
  }
}

function serverRow({ server }: Server): Row<Server> {
  const state = element('span', { class: 'state' });
  const node = element(
    'li',
    {},
    element('span', { class: 'dot' }),
    element('bdi', {}, visible(server) || 'Redis'),
    state,
  );
  const update = (item: Server) => {
    setAttribute(node, 'class', item.state);
    setText(state, STATES[item.state]);
  };
  return { node, update };
}

function processRow({ host, pid }: SnapshotProcess): Row<SnapshotProcess> {
  const state = element('span', { class: 'state' });
  const node = element('li', {}, element('bdi', {}, `${visible(host)} ${pid}`), state);
  const update = ({ since, seenMs }: SnapshotProcess) => {
    const isSilent = seenMs > 5000;
    setAttribute(node, 'class', isSilent ? 'open' : '');
    setText(state, isSilent ? `silent for ${duration(seenMs)}` : `up ${duration(Date.now() - since)}`);
  };
  return { node, update };
}
