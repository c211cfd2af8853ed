import { h } from 'preact';
import { useId, useState } from 'preact/hooks';
import type { Snapshot, SnapshotRule, SnapshotField } from '../snapshot.js';
import { Sparkline, LAST_HOUR, TrafficChart } from './charts.js';
import { button, clientText, figure, row, table, titled, useSteadyList } from './elements.js';
import { rate, visible, count, counted, date } from './figures.js';
import { openEditor } from './edit-dialog.js';
import { openFinder } from './find-dialog.js';
import { openHistory, useMarks } from './live-changes.js';
import { Subjects } from './subjects.js';

const COLUMNS = [
  ['rule', 'Rule', ''],
  ['allowed', 'Allowed/s', 'figure'],
  ['denied', 'Denied/s', 'figure'],
  ['would', 'Would deny/s', 'figure would'],
] as const;

const DIFFERS = 'differs by route';

const FILTER = 'Filter rules and routes';

type Order = (typeof COLUMNS)[number][0];

/** The table of rules, which the reader sorts and filters. */
export function RulesTable(snapshot: Snapshot) {
  const { rules, live, readOnly } = snapshot;
  const [wantedOrder, setOrder] = useAddress('order', 'denied');
  const order = COLUMNS.find(([name]) => name === wantedOrder)?.[0] ?? 'denied';
  const [filter, setFilter] = useAddress('filter', '');
  const wanted = filter.trim().toLowerCase();
  const matching = rules
    .filter(({ rule, routes }) => [rule, ...routes].some((text) => text.toLowerCase().includes(wanted)))
    .sort((one, other) => compare(order, one, other));
  const [table, shown] = useSteadyList(matching, ({ rule }) => rule, `${order} ${wanted}`);
  const withoutSource = live ? '' : 'Limits can be edited here when the module has liveRules.';
  const none = rules.length === 0 ? 'The application has no rules yet.' : 'No rule matches.';
  const direction = order === 'rule' ? 'ascending' : 'descending';
  const head = ([name, text, kind]: (typeof COLUMNS)[number]) => {
    const sorted = name === order ? direction : undefined;
    const sort = button(text, () => setOrder(name));
    return h('th', { scope: 'col', class: kind, 'aria-sort': sorted }, sort);
  };
  const heads = h('tr', null, COLUMNS.map(head), h('th', { scope: 'col', class: 'trend' }, 'Last minute'));
  return h('section', { class: 'card rules', 'aria-labelledby': 'rules-title' }, [
    h('div', { class: 'card-head' }, [
      h('h2', { id: 'rules-title' }, 'Rules'),
      h('p', null, readOnly ? 'Read only.' : withoutSource),
      h('input', {
        class: 'filter',
        type: 'search',
        autocomplete: 'off',
        placeholder: FILTER,
        'aria-label': FILTER,
        value: filter,
        onInput: ({ currentTarget }) => setFilter(currentTarget.value),
      }),
    ]),
    h('table', { id: 'rules', ref: table, tabIndex: -1 }, [
      h('caption', { class: 'hidden' }, 'Rules with requests per second, mean of the last ten seconds'),
      h('thead', null, heads),
      shown.map((rule) => h(RuleRows, { key: rule.rule, rule, snapshot })),
    ]),
    h('p', { id: 'no-rules', hidden: shown.length > 0 }, none),
  ]);
}

/** A rule of the table: a row of figures, and a row of details while it is expanded. */
function RuleRows({ rule, snapshot }: { rule: SnapshotRule; snapshot: Snapshot }) {
  const id = useId();
  const [isExpanded, setExpanded] = useState(false);
  const would = wouldDeny(rule);
  const tags = [rule.shadow && 'shadow', rule.change && 'live'].filter(Boolean).join(' · ');
  const toggle = { class: 'toggle', 'aria-expanded': isExpanded, 'aria-controls': id };
  const name = h('span', { class: 'name' }, [
    button(clientText(rule.rule), () => setExpanded(!isExpanded), toggle),
    h('span', { class: 'tags' }, tags),
  ]);
  const cells = [
    figure(rate(rule.allowed)),
    figure(rate(rule.denied), rule.denied > 0 ? 'denied active' : 'denied'),
    figure(would > 0 || rule.shadow ? rate(would) : '–', would > 0 ? 'would active' : 'would'),
    h('td', { class: 'trend' }, h(Sparkline, { at: snapshot.at, seconds: rule.seconds })),
  ];
  const content = isExpanded && h(RuleDetails, { rule, snapshot });
  const details = h('td', { colSpan: COLUMNS.length + 1 }, content);
  return h('tbody', { class: isExpanded ? 'expanded' : '' }, [
    row(h('span', { class: 'rule' }, name, h('span', { class: 'summary' }, summaryOf(rule))), cells),
    h('tr', { id, class: 'details-row', hidden: !isExpanded }, details),
  ]);
}

/** The limit in one line, such as `100 per 1m · gcra`. */
function summaryOf({ fields }: SnapshotRule): string {
  const values = Object.fromEntries(fields.map(({ name, value }) => [name, value]));
  const { limit = '?', window, algorithm, by } = values;
  const parts = [window === undefined ? limit : `${limit} per ${window}`, algorithm, by && `by ${by}`];
  if (fields.some(({ differs }) => differs)) parts.push(DIFFERS);
  return visible(parts.filter((each) => each !== undefined).join(' · '));
}

function compare(order: Order, one: SnapshotRule, other: SnapshotRule): number {
  const byName = one.rule < other.rule ? -1 : 1;
  if (order === 'rule') return byName;
  const figure = (rule: SnapshotRule) => (order === 'would' ? wouldDeny(rule) : rule[order]);
  return figure(other) - figure(one) || byName;
}

function wouldDeny({ wouldDeny, trialDeny }: SnapshotRule): number {
  return wouldDeny + trialDeny;
}

/** Keeps a value in the address of the page, so that a link opens the page as the reader sees it. */
function useAddress(name: string, initial: string): [value: string, set: (value: string) => void] {
  const [value, setValue] = useState(new URLSearchParams(location.search).get(name) ?? initial);
  const set = (next: string) => {
    const query = new URLSearchParams(location.search);
    if (next === initial) query.delete(name);
    else query.set(name, next);
    const text = query.toString();
    history.replaceState(null, '', text === '' ? location.pathname : `?${text}`);
    setValue(next);
  };
  return [value, set];
}

/** What an expanded rule shows: denied subjects, fields with their origins, and routes. */
function RuleDetails({ rule, snapshot }: { rule: SnapshotRule; snapshot: Snapshot }) {
  const { live, readOnly } = snapshot;
  const name = visible(rule.rule);
  const [list, routes] = useSteadyList(routesOf(rule), ({ route }) => route);
  const ofFields = { caption: `Fields of ${name}`, heads: ['Field', 'Value', 'From'] };
  const heads = ['Route', 'Allowed/s', 'Denied/s'];
  const ofRoutes = { caption: `Routes of ${name}`, heads, figures: [1, 3] as const, list };
  const texts = [changeText(rule), trialText(rule)];
  const ofRule = { 'aria-label': `History of ${name}` };
  return h('div', { class: 'details' }, [
    h('div', { class: 'tools' }, [
      rule.editable && button('Edit', () => openEditor(rule), { 'aria-label': `Edit ${name}` }),
      live && button('History', () => openHistory(readOnly, rule.rule), ofRule),
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

function fieldRow({ name, value, differs, from, live }: SnapshotField) {
  const text = h('td', { class: live ? 'origin live' : 'origin' }, visible(from));
  return row(name, [clientText(differs ? `${value}; ${DIFFERS}` : value), text], { key: name });
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
