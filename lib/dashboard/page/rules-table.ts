import { h } from 'preact';
import { useId, useState } from 'preact/hooks';
import type { Snapshot, SnapshotRule } from '../snapshot.js';
import { Sparkline } from './charts.js';
import { button, clientText, figure, row } from './elements.js';
import { visible } from './visible-text.js';
import { rate } from './figures.js';
import { RuleDetails } from './rule-details.js';
import { useSteadyList } from './steady-list.js';

const COLUMNS = [
  ['rule', 'Rule', ''],
  ['allowed', 'Allowed/s', 'figure'],
  ['denied', 'Denied/s', 'figure'],
  ['would', 'Would deny/s', 'figure would'],
] as const;

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
  const note = readOnly
    ? 'Read only.'
    : live
      ? ''
      : 'Limits can be edited here when the module has liveRules.';
  const none = rules.length === 0 ? 'The application has no rules yet.' : 'No rule matches.';
  const direction = order === 'rule' ? 'ascending' : 'descending';
  const head = ([name, text, kind]: (typeof COLUMNS)[number]) =>
    h(
      'th',
      { scope: 'col', class: kind, 'aria-sort': name === order ? direction : undefined },
      button(text, () => setOrder(name)),
    );
  const heads = h('tr', null, COLUMNS.map(head), h('th', { scope: 'col', class: 'trend' }, 'Last minute'));
  return h('section', { class: 'card rules', 'aria-labelledby': 'rules-title' }, [
    h('div', { class: 'card-head' }, [
      h('h2', { id: 'rules-title' }, 'Rules'),
      h('p', null, note),
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
  const {
    limit = '?',
    window,
    algorithm,
    by,
  } = Object.fromEntries(fields.map(({ name, value }) => [name, value]));
  const parts = [window === undefined ? limit : `${limit} per ${window}`, algorithm, by && `by ${by}`];
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
