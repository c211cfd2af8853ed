import { h } from 'preact';
import type { SnapshotRule, SnapshotSubject } from '../snapshot.js';
import { confirm, reasonField, type FormTexts } from './dialog.js';
import { button, clientText, figure, operationsHead, row, table } from './elements.js';
import { visible } from './visible-text.js';
import { count } from './figures.js';
import { named, useName } from './names.js';
import { useSteadyList } from './steady-list.js';

const BLOCKS: Readonly<Record<string, string>> = { '10m': '10 minutes', '1h': '1 hour', '1d': '1 day' };

/** The subjects that a rule denied most, with the operations on them. */
export function Subjects({ rule, top, readOnly }: SnapshotRule & { readOnly: boolean }) {
  const [list, shown] = useSteadyList(top, ({ id }) => id);
  const heads = ['Subject', 'Denied', 'Permits left', operationsHead(readOnly)];
  const caption = `Subjects that ${visible(rule)} denied most`;
  const rows = shown.map((subject) => h(Row, { key: subject.id, rule, subject, readOnly }));
  return h('section', { class: 'top' }, [
    h('h3', null, 'Most denied subjects'),
    h('p', { class: 'empty', hidden: top.length > 0 }, 'None in the last ten minutes.'),
    table({ caption, heads, figures: [1, 3], list, class: 'subjects', hidden: top.length === 0 }, rows),
  ]);
}

function Row({ rule, subject, readOnly }: { rule: string; subject: SnapshotSubject; readOnly: boolean }) {
  const { id, denied, error, remaining, isBlocked } = subject;
  const name = useName(rule, subject);
  const range = error > 0 ? `Between ${count(denied - error)} and ${count(denied)}` : '';
  return row(clientText(name, name), [
    figure(error > 0 ? `${count(denied)} (−${count(error)})` : count(denied), '', { title: range }),
    figure(isBlocked ? 'blocked' : remaining === null ? '–' : count(remaining), isBlocked ? 'blocked' : ''),
    !readOnly && h(SubjectOperations, { rule, id, name }),
  ]);
}

interface Operations {
  readonly rule: string;
  readonly id: string;
  /** The subject as the reader sees it. */
  readonly name: string;
  /** Called when an operation is done. */
  readonly changed?: () => Promise<void>;
}

/** The cell with the operations on a subject. */
export function SubjectOperations(subject: Operations) {
  const label = (operation: string) => ({ 'aria-label': `${operation} ${subject.name}` });
  return h('td', { class: 'operations' }, [
    button('Reset', () => reset(subject), label('Reset')),
    button('Block', () => block(subject), label('Block')),
  ]);
}

function reset({ rule, id, name, changed }: Operations): void {
  const text = h('p', null, named(name, rule), ' gets all its permits back, and a block of it ends.');
  const done = `${name} of rule ${visible(rule)} was reset.`;
  const body = { rule, subject: id };
  confirm('Reset the subject?', text, 'Reset', { path: 'subjects/reset', body, done, changed });
}

function block({ rule, id, name, changed }: Operations): void {
  const lengths = Object.entries(BLOCKS).map(([value, text]) => h('option', { value }, text));
  const content = [
    h('p', null, 'All requests of ', named(name, rule), ' are denied until the block ends.'),
    h('label', { class: 'field' }, h('span', null, 'For'), h('select', { name: 'expires' }, lengths)),
    reasonField(),
  ];
  const done = ({ expires }: FormTexts) =>
    `${name} of rule ${visible(rule)} is blocked for ${BLOCKS[expires!]!}.`;
  const body = { rule, subject: id };
  confirm('Block the subject?', content, 'Block', { path: 'subjects/block', body, done, changed });
}
