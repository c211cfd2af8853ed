import { Fragment, h, render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Snapshot } from '../snapshot.js';
import { announce, DenialReport, report } from './announcements.js';
import { button } from './elements.js';
import { openExplainer } from './explain-dialog.js';
import { openFinder } from './find-dialog.js';
import { openHistory, Loss } from './live-changes.js';
import { Overview, Problems, Processes } from './overview.js';
import { post, SnapshotStream, type Connection } from './request.js';
import { RulesTable } from './rules.js';
import { visible } from './figures.js';
import { NamesButton } from './subjects.js';

const STATES = {
  connecting: 'Connecting…',
  live: 'Live',
  lost: 'Reconnecting…',
  refused: 'No access',
} as const;

const denials = new DenialReport();

function Page() {
  const [last, setLast] = useState<Snapshot>();
  const [paused, setPaused] = useState<Snapshot>();
  const [{ state, problem }, setConnection] = useState<Connection>({ state: 'connecting' });
  const snapshot = paused ?? last;
  const text = paused && state === 'live' ? 'Paused' : STATES[state];
  useEffect(() => new SnapshotStream(setLast, setConnection).start(), []);
  useEffect(() => snapshot && denials.add(snapshot.at, snapshot.rules), [snapshot]);
  useEffect(() => {
    if (state !== 'connecting') announce(text);
  }, [state]);
  const isStale = state === 'lost' || state === 'refused' || snapshot?.allUntil !== null;
  const pause = () => setPaused(paused ? undefined : last);
  return h(Fragment, null, [
    h('header', null, [
      h('h1', null, 'Rate limits'),
      h('p', { id: 'connection', class: text === 'Paused' ? 'paused' : state }, [
        h('span', { id: 'connection-text' }, text),
      ]),
      h('p', { id: 'origin' }, visible(problem ?? '')),
      h('div', { class: 'actions' }, [
        snapshot?.actions.map(({ id, label }) =>
          button(visible(label), () => void run(id, label), { key: id, class: 'primary' }),
        ),
        snapshot?.live && button('What changed', () => openHistory(snapshot.readOnly)),
        snapshot && button('Find a subject', () => openFinder(snapshot)),
        snapshot?.unmask && button('Explain a denial', () => openExplainer(snapshot)),
        snapshot?.unmask && h(NamesButton, null),
        button('Pause', pause, { 'aria-pressed': paused !== undefined }),
      ]),
    ]),
    h(Problems, { snapshot }),
    h(Loss, { loss: snapshot?.loss ?? null, readOnly: snapshot?.readOnly ?? true }),
    snapshot &&
      h('main', { class: isStale ? 'stale' : '' }, [
        h(Overview, snapshot),
        h(Processes, snapshot),
        h(RulesTable, snapshot),
      ]),
  ]);
}

async function run(id: string, label: string): Promise<void> {
  try {
    const { message } = await post<{ message?: string }>(`actions/${encodeURIComponent(id)}`, {});
    report(message ?? `${label}: started.`);
  } catch (error) {
    report((error as Error).message, 'failed');
  }
}

render(h(Page, null), document.querySelector('#page')!);
