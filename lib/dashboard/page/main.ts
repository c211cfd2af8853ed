import type { Snapshot } from '../snapshot.js';
import { announce, DenialReport, report } from './announcements.js';
import { button, byId, setAttribute, setText } from './element.js';
import { KeyedList } from './keyed-list.js';
import { LossView } from './loss-view.js';
import { Overview } from './overview.js';
import { post } from './request.js';
import { RulesTable } from './rules-table.js';
import { SnapshotStream, type Connection } from './stream.js';
import { TrafficChart } from './traffic-chart.js';
import { visible } from './visible-text.js';

const STATES = {
  connecting: 'Connecting…',
  live: 'Live',
  lost: 'Reconnecting…',
  refused: 'No access',
} as const;

const views = [new LossView(), new Overview(), new TrafficChart(), new RulesTable()];
const denials = new DenialReport();
const actions = new KeyedList<Snapshot['actions'][number]>(
  byId('actions'),
  ({ id }) => id,
  ({ id, label }) => {
    return {
      node: button(visible(label), () => void run(id, label), { class: 'primary' }),
      update: () => undefined,
    };
  },
);
let connection: Connection['state'] | undefined;
let isPaused = false;
let last: Snapshot | undefined;

function show(snapshot: Snapshot): void {
  last = snapshot;
  if (isPaused) return;
  byId('notice').hidden = snapshot.problem === null;
  setText(byId('notice'), visible(snapshot.problem ?? ''));
  for (const view of views) view.update(snapshot);
  actions.update(snapshot.readOnly ? [] : snapshot.actions);
  denials.add(snapshot.at, snapshot.rules);
}

function showConnection({ state, problem }: Connection): void {
  const text = isPaused && state === 'live' ? 'Paused' : STATES[state];
  setText(byId('connection-text'), text);
  setAttribute(byId('connection'), 'class', text === 'Paused' ? 'paused' : state);
  setText(byId('origin'), state === 'live' ? '' : visible(problem ?? ''));
  document.body.classList.toggle('stale', state === 'lost' || state === 'refused');
  if (state !== connection && connection !== undefined) announce(text);
  connection = state;
}

async function run(id: string, label: string): Promise<void> {
  try {
    const { message } = await post<{ message?: string }>(`actions/${encodeURIComponent(id)}`, {});
    report(message ?? `${label}: started.`);
  } catch (error) {
    report((error as Error).message, 'failed');
  }
}

byId('pause').addEventListener('click', () => {
  isPaused = !isPaused;
  setAttribute(byId('pause'), 'aria-pressed', String(isPaused));
  showConnection({ state: connection ?? 'connecting' });
  if (last) show(last);
});

new SnapshotStream(show, showConnection).start();
