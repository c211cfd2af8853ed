import type { Snapshot, SnapshotSubject } from '../snapshot.js';
import { report } from './announcements.js';
import { confirmed } from './dialog.js';
import { button, element, setText } from './element.js';
import { count } from './figures.js';
import { KeyedList, type Row } from './keyed-list.js';
import { post } from './request.js';
import { visible } from './visible-text.js';

const BLOCKS = [
  ['10m', '10 minutes'],
  ['1h', '1 hour'],
  ['1d', '1 day'],
] as const;

/** The subjects that a rule denied most, with the operations on them. */
export class Subjects {
  readonly node: HTMLElement;
  private readonly empty = element('p', { class: 'empty' }, 'None in the last ten minutes.');
  private readonly table: HTMLTableElement;
  private readonly list: KeyedList<SnapshotSubject>;

  constructor(rule: string, { readOnly }: Snapshot) {
    const body = element('tbody');
    const heads = [
      element('th', { scope: 'col' }, 'Subject'),
      element('th', { scope: 'col', class: 'figure' }, 'Denied'),
      element('th', { scope: 'col', class: 'figure' }, 'Permits left'),
      ...(readOnly
        ? []
        : [element('th', { scope: 'col' }, element('span', { class: 'hidden' }, 'Operations'))]),
    ];
    const caption = element('caption', { class: 'hidden' }, `Subjects that ${visible(rule)} denied most`);
    this.table = element(
      'table',
      { class: 'subjects' },
      caption,
      element('thead', {}, element('tr', {}, ...heads)),
      body,
    );
    this.list = new KeyedList(
      body,
      ({ id }) => id,
      (subject) => subjectRow(rule, subject, readOnly),
    );
    this.node = element(
      'section',
      { class: 'top' },
      element('h3', {}, 'Most denied subjects'),
      this.empty,
      this.table,
    );
  }

  update(top: readonly SnapshotSubject[]): void {
    this.empty.hidden = top.length > 0;
    this.table.hidden = top.length === 0;
    this.list.update(top);
  }
}

function subjectRow(rule: string, subject: SnapshotSubject, readOnly: boolean): Row<SnapshotSubject> {
  const shown = visible(subject.subject);
  const name = element('bdi', {}, shown);
  name.title = shown;
  const denied = element('td', { class: 'figure' });
  const remaining = element('td', { class: 'figure' });
  const operations = element(
    'td',
    { class: 'operations' },
    button('Reset', () => confirmReset(rule, subject), { 'aria-label': `Reset ${shown}` }),
    button('Block', () => confirmBlock(rule, subject), { 'aria-label': `Block ${shown}` }),
  );
  const cells = [element('th', { scope: 'row' }, name), denied, remaining, ...(readOnly ? [] : [operations])];
  const update = (item: SnapshotSubject) => {
    setText(denied, item.error > 0 ? `${count(item.denied)} (−${count(item.error)})` : count(item.denied));
    denied.title =
      item.error > 0 ? `Between ${count(item.denied - item.error)} and ${count(item.denied)}` : '';
    setText(remaining, item.remaining === null ? '–' : count(item.remaining));
  };
  return { node: element('tr', {}, ...cells), update };
}

function confirmReset(rule: string, { id, subject }: SnapshotSubject): void {
  const named = `${visible(subject)} of rule ${visible(rule)}`;
  confirmed({
    title: 'Reset the subject?',
    text: element('p', {}, element('bdi', {}, named), ' gets all its permits back, and a block of it ends.'),
    action: 'Reset',
    run: async () => {
      await post('subjects/reset', { rule, subject: id });
      report(`${named} was reset.`);
    },
  });
}

function confirmBlock(rule: string, { id, subject }: SnapshotSubject): void {
  const named = `${visible(subject)} of rule ${visible(rule)}`;
  const length = element('select', {}, ...BLOCKS.map(([value, text]) => element('option', { value }, text)));
  confirmed({
    title: 'Block the subject?',
    text: element(
      'p',
      {},
      'All requests of ',
      element('bdi', {}, named),
      ' are denied until the block ends.',
    ),
    fields: [element('label', { class: 'field' }, element('span', {}, 'For'), length)],
    action: 'Block',
    run: async () => {
      await post('subjects/block', { rule, subject: id, expires: length.value });
      report(`${named} is blocked for ${length.selectedOptions[0]?.text ?? length.value}.`);
    },
  });
}
