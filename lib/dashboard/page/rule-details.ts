import { h } from 'preact';
import { useState } from 'preact/hooks';
import type { Snapshot, SnapshotField, SnapshotRule } from '../snapshot.js';
import { LAST_HOUR, TrafficChart } from './charts.js';
import { openEditor } from './edit-dialog.js';
import { button, clientText, figure, row, table, titled } from './elements.js';
import { visible } from './visible-text.js';
import { count, counted, date, rate } from './figures.js';
import { openFinder } from './find-dialog.js';
import { openHistory, useMarks } from './history.js';
import { useSteadyList } from './steady-list.js';
import { Subjects } from './subjects.js';

/** What an expanded rule shows: denied subjects, fields with their origins, and routes. */
export function RuleDetails({ rule, snapshot }: { rule: SnapshotRule; snapshot: Snapshot }) {
  const { live, readOnly } = snapshot;
  const name = visible(rule.rule);
  const [list, routes] = useSteadyList(routesOf(rule), ({ route }) => route);
  const ofFields = { caption: `Fields of ${name}`, heads: ['Field', 'Value', 'From'] };
  const heads = ['Route', 'Allowed/s', 'Denied/s'];
  const ofRoutes = { caption: `Routes of ${name}`, heads, figures: [1, 3] as const, list };
  const texts = [changeText(rule), trialText(rule)];
  return h('div', { class: 'details' }, [
    h('div', { class: 'tools' }, [
      rule.editable && button('Edit', () => openEditor(rule), { 'aria-label': `Edit ${name}` }),
      live &&
        button('History', () => openHistory(readOnly, rule.rule), { 'aria-label': `History of ${name}` }),
      texts.map((text) => h('p', { class: 'change' }, text)),
      rule.exceptions > 0 &&
        button(`Exceptions of ${counted(rule.exceptions, 'subject')}`, () => openFinder(snapshot)),
    ]),
    h(RuleHour, { rule, snapshot }),
    h(Subjects, { ...rule, readOnly }),
    titled('Fields', table(ofFields, rule.fields.map(fieldRow))),
    titled('Routes', table(ofRoutes, routes.map(routeRow))),
  ]);
}

function fieldRow({ name, value, from, live }: SnapshotField) {
  const text = h('td', { class: live ? 'origin live' : 'origin' }, visible(from));
  return row(name, [clientText(value), text], { key: name });
}

function routeRow({ route, allowed, denied }: SnapshotRule['byRoute'][number]) {
  const deniedFigure = figure(rate(denied), denied > 0 ? 'denied active' : 'denied');
  return row(clientText(route), [figure(rate(allowed)), deniedFigure], { key: route });
}

function changeText({ change }: SnapshotRule): string {
  if (!change) return '';
  const { by, at, reason, expiresInMs } = change;
  const end = expiresInMs === undefined ? '' : `until ${date(Date.now() + expiresInMs)}`;
  const author = by === undefined ? '' : `by ${visible(by)}`;
  const time = at === undefined ? '' : date(at);
  const why = reason ? `: ${visible(reason)}` : '';
  return `${['Changed', author, time, end].filter(Boolean).join(' ')}${why}`;
}

function trialText({ wouldDeny, trialDeny }: SnapshotRule): string {
  const shadow = wouldDeny > 0 ? `In shadow mode: would deny ${rate(wouldDeny)} per second. ` : '';
  return shadow + (trialDeny > 0 ? `The trial limit would deny ${rate(trialDeny)} per second.` : '');
}

/** The last hour of the rule: gaps are those of all rules. */
function RuleHour({ rule, snapshot }: { rule: SnapshotRule; snapshot: Snapshot }) {
  const { at, allUntil, minutes } = snapshot;
  const [reading, setReading] = useState('');
  const counts = new Map(rule.minutes.map((each) => [each.at, each]));
  const items = minutes.map(({ at }) => counts.get(at) ?? { at, allowed: 0, denied: 0 });
  const marks = useMarks(snapshot, rule.rule);
  const chart = { rule: visible(rule.rule), at, span: LAST_HOUR, items, allUntil, marks };
  const sum = (of: 'allowed' | 'denied') => count(items.reduce((total, each) => total + each[of], 0));
  return titled(
    'Last hour',
    h('p', { class: 'change' }, reading || `${sum('allowed')} allowed, ${sum('denied')} denied`),
    h(TrafficChart, { ...chart, onPoint: setReading }),
  );
}

/** Routes without requests as well. */
function routesOf({ routes, byRoute }: SnapshotRule): SnapshotRule['byRoute'] {
  const known = new Set(byRoute.map(({ route }) => route));
  const quiet = routes.filter((route) => !known.has(route));
  return [...byRoute, ...quiet.map((route) => ({ route, allowed: 0, denied: 0 }))];
}
