import { h } from 'preact';
import type { SnapshotRule, SnapshotSubject, NamedSubject } from '../snapshot.js';
import { confirm, LENGTHS, reasonField, type FormTexts } from './dialog.js';
import { button, clientText, figure, operationsHead, row, table, useSteadyList } from './elements.js';
import { count, visible } from './figures.js';
import { useEffect, useState } from 'preact/hooks';
import { report } from './announcements.js';
import { post } from './request.js';

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
  const lengths = Object.entries(LENGTHS).map(([value, text]) => h('option', { value }, text));
  const content = [
    h('p', null, 'All requests of ', named(name, rule), ' are denied until the block ends.'),
    h('label', { class: 'field' }, h('span', null, 'For'), h('select', { name: 'expires' }, lengths)),
    reasonField(),
  ];
  const done = ({ expires }: FormTexts) =>
    `${name} of rule ${visible(rule)} is blocked for ${LENGTHS[expires!]!}.`;
  const body = { rule, subject: id };
  confirm('Block the subject?', content, 'Block', { path: 'subjects/block', body, done, changed });
}

/** Subjects in one request, whose length is limited. */
const AT_ONCE = 15;

/** Subjects that the reader has seen unmasked, by their ids. */
const names = new Map<string, string>();
/** Subjects on the page that are to be unmasked: the rule of each id. */
const wanted = new Map<string, string>();
const listeners = new Set<() => void>();
let isShown = false;
let isLoading = false;

/** The button that unmasks all subjects on the page, for readers with the right to see them, until it is pressed again. */
export function NamesButton() {
  useRenders();
  return button('Show subjects', () => show(!isShown), { 'aria-pressed': isShown });
}

/** Returns a subject as the reader may see it now: masked unless the reader has unmasked it. */
export function useName(rule: string, { id, subject }: NamedSubject): string {
  useRenders();
  useEffect(() => {
    if (!isShown || names.has(id)) return;
    wanted.set(id, rule);
    void load();
  });
  return visible((isShown ? names.get(id) : undefined) ?? subject);
}

export function SubjectName({ rule, subject }: { rule: string; subject: NamedSubject }) {
  const name = useName(rule, subject);
  return clientText(name, name);
}

/** Renders the component again when subjects are masked or unmasked. */
function useRenders(): void {
  const [, setCount] = useState(0);
  useEffect(() => {
    const listener = () => setCount((count) => count + 1);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
}

function show(isWanted: boolean): void {
  isShown = isWanted;
  names.clear();
  wanted.clear();
  for (const listener of listeners) listener();
}

/** Loads the wanted subjects, those of one rendering together. */
async function load(): Promise<void> {
  if (isLoading) return;
  isLoading = true;
  try {
    await Promise.resolve();
    while (wanted.size > 0) {
      const part = [...wanted].slice(0, AT_ONCE).map(([id, rule]) => ({ rule, id }));
      const { subjects } = await post<{ subjects: readonly string[] }>('unmask', { subjects: part });
      if (isShown) part.forEach(({ id }, index) => names.set(id, subjects[index]!));
      for (const { id } of part) wanted.delete(id);
      for (const listener of listeners) listener();
    }
  } catch (error) {
    show(false);
    report((error as Error).message, 'failed');
  } finally {
    isLoading = false;
  }
}

/** A text with the name of a subject and its rule, whose direction does not reach the text around it. */
export function named(name: string, rule: string) {
  return h('bdi', null, `${name} of rule ${visible(rule)}`);
}
