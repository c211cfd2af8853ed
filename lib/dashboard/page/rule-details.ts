import type { Snapshot, SnapshotField, SnapshotRule } from '../snapshot.js';
import { openEditor } from './edit-dialog.js';
import { button, element, setText } from './element.js';
import { date, rate } from './figures.js';
import { openHistory } from './dialog.js';
import { KeyedList } from './keyed-list.js';
import { Subjects } from './subjects.js';
import { visible } from './visible-text.js';

type Route = SnapshotRule['byRoute'][number];

/** What an expanded rule shows: denied subjects, fields with their origins, and routes. */
export class RuleDetails {
  readonly node: HTMLElement;
  private readonly change = element('p', { class: 'change' });
  private readonly subjects: Subjects;
  private readonly fields: KeyedList<SnapshotField>;
  private readonly routes: KeyedList<Route>;
  private readonly exceptions = element('p', { class: 'change' });
  private readonly trial = element('p', { class: 'change' });
  private rule: SnapshotRule;

  constructor(rule: SnapshotRule, snapshot: Snapshot) {
    this.rule = rule;
    this.subjects = new Subjects(rule.rule, snapshot);
    const name = visible(rule.rule);
    const [fieldRows, routeRows] = [element('tbody'), element('tbody')];
    this.fields = new KeyedList(fieldRows, (field) => field.name, fieldRow);
    this.routes = new KeyedList(routeRows, ({ route }) => route, routeRow);
    const columns = [
      section('Fields', table(`Fields of ${name}`, ['Field', 'Value', 'From'], fieldRows)),
      section('Routes', table(`Routes of ${name}`, ['Route', 'Allowed/s', 'Denied/s'], routeRows, 1)),
    ];
    this.node = element('div', { class: 'details' }, this.tools(snapshot), this.subjects.node, ...columns);
  }

  update(rule: SnapshotRule): void {
    this.rule = rule;
    this.subjects.update(rule.top);
    this.fields.update(rule.fields);
    this.routes.update(routesOf(rule));
    setText(this.change, changeText(rule));
    setText(this.exceptions, exceptionsText(rule));
    const [would, trial] = [rule.wouldDeny, rule.trialDeny];
    setText(
      this.trial,
      [
        would > 0 ? `In shadow mode: would deny ${rate(would)} per second.` : '',
        trial > 0 ? `The trial limit would deny ${rate(trial)} per second.` : '',
      ]
        .join(' ')
        .trim(),
    );
  }

  private tools({ live, readOnly }: Snapshot): HTMLElement {
    const isEditable = live && !readOnly && this.rule.editable;
    const name = visible(this.rule.rule);
    return element(
      'div',
      { class: 'tools' },
      ...(isEditable ? [button('Edit', () => openEditor(this.rule), { 'aria-label': `Edit ${name}` })] : []),
      ...(live
        ? [button('History', () => void openHistory(this.rule.rule), { 'aria-label': `History of ${name}` })]
        : []),
      this.change,
      this.exceptions,
      this.trial,
    );
  }
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

function exceptionsText({ exceptions }: SnapshotRule): string {
  if (exceptions === 0) return '';
  return exceptions === 1 ? '1 subject has an exception.' : `${exceptions} subjects have exceptions.`;
}

/** Routes without requests as well. */
function routesOf({ routes, byRoute }: SnapshotRule): readonly Route[] {
  const known = new Set(byRoute.map(({ route }) => route));
  return [
    ...byRoute,
    ...routes.filter((route) => !known.has(route)).map((route) => ({ route, allowed: 0, denied: 0 })),
  ];
}

function section(title: string, content: Node): HTMLElement {
  return element('section', {}, element('h3', {}, title), content);
}

/** @param figuresFrom the first column that has figures */
function table(
  caption: string,
  heads: readonly string[],
  body: HTMLElement,
  figuresFrom = heads.length,
): HTMLElement {
  const cells = heads.map((head, index) =>
    element('th', { scope: 'col', class: index >= figuresFrom ? 'figure' : '' }, head),
  );
  return element(
    'table',
    {},
    element('caption', { class: 'hidden' }, caption),
    element('thead', {}, element('tr', {}, ...cells)),
    body,
  );
}

function fieldRow({ name }: SnapshotField) {
  const value = element('bdi');
  const origin = element('td', { class: 'origin' });
  const node = element('tr', {}, element('th', { scope: 'row' }, name), element('td', {}, value), origin);
  const update = (field: SnapshotField) => {
    setText(value, visible(field.value));
    setText(origin, visible(field.from));
    origin.classList.toggle('live', field.origin === 'live');
  };
  return { node, update };
}

function routeRow({ route }: Route) {
  const [allowed, denied] = [element('td', { class: 'figure' }), element('td', { class: 'figure denied' })];
  const node = element(
    'tr',
    {},
    element('th', { scope: 'row' }, element('bdi', {}, visible(route))),
    allowed,
    denied,
  );
  const update = (item: Route) => {
    setText(allowed, rate(item.allowed));
    setText(denied, rate(item.denied));
    denied.classList.toggle('active', item.denied > 0);
  };
  return { node, update };
}
