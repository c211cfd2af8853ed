import { h } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { FoundRule, FoundSubject, Restriction, Snapshot } from '../snapshot.js';
import { confirm, findings, openDialog, searchForm, useReading } from './dialog.js';
import { button, clientText, figure, operationsHead, row, table } from './elements.js';
import { count, counted, date, duration, percent, textOf, visible } from './figures.js';
import { post, read } from './request.js';
import { SubjectOperations, named, NamesButton, SubjectName, useName } from './subjects.js';

/** What the reader may do in the dialog. */
type Rights = Pick<Snapshot, 'readOnly' | 'unmask'>;

/** What a row has besides its data: a function that reads all again. */
type Row = Pick<Snapshot, 'readOnly'> & { readonly changed: () => Promise<void> };

/** Opens the dialog that finds a subject, and lists all blocks, exceptions, and subjects above a threshold. */
export function openFinder(rights: Rights): void {
  openDialog('Subjects', (close) => h(Finder, { ...rights, close }));
}

function Finder({ readOnly, unmask, close }: Rights & { close: () => void }) {
  const [subject, setSubject] = useState('');
  const [found, setFound] = useState<FoundSubject & { of: string }>();
  const [status, reading] = useReading('Loading…');
  const changed = () =>
    reading(async () => {
      const all = subject === '' ? read<FoundSubject>('restrictions') : undefined;
      const next = await (all ?? post<FoundSubject>('subjects/find', { subject }));
      setFound({ ...next, of: subject });
      return all ? '' : foundText(next);
    });
  useEffect(() => void changed(), [subject]);
  const find = (text: string) => (text === subject ? void changed() : setSubject(text));
  const texts = ['An IP, a user id, an API key; a list with | between its parts', 'Find'];
  const form = searchForm('subject', texts, find);
  const { of = '', rules = [], restrictions = [] } = found ?? {};
  const row = { readOnly, changed };
  const content = [
    of === '' && rules.length > 0 && h('h3', null, 'Subjects above a threshold'),
    rules.length > 0 && rulesTable(rules, row),
    h('h3', null, of === '' ? 'All blocks and exceptions' : 'Blocks and exceptions of the subject'),
    restrictions.length === 0 ? h('p', null, 'None.') : restrictionsTable(restrictions, row),
  ];
  return findings({ close, form, status, label: 'Subjects that were found' }, content, [
    unmask && h(NamesButton, null),
    of !== '' && button('Show all', () => find('')),
  ]);
}

function foundText({ rules, unused, problem }: FoundSubject): string {
  const isComplete = problem === undefined;
  const texts = [
    rules.length > 0 && `${counted(rules.length, 'rule')} counted it.`,
    rules.length === 0 && isComplete && 'No rule has counted it.',
    (unused > 0 || isComplete) && `It has all its permits under ${counted(unused, 'other rule')}.`,
    problem,
  ];
  return texts.filter(Boolean).join(' ');
}

function rulesTable(rules: readonly FoundRule[], { readOnly, changed }: Row) {
  const figures = ['Permits left', 'All again in', 'Allowed in'];
  const heads = ['Subject', 'Rule', ...figures, operationsHead(readOnly)];
  const rows = rules.map((each) => {
    const key = `${each.rule} ${each.route} ${each.subject.id}`;
    return h(FoundRow, { key, ...each, readOnly, changed });
  });
  return table({ caption: 'What each rule has left for subjects', heads, figures: [2, 5] }, rows);
}

function FoundRow(props: FoundRule & Row) {
  const { rule, route, subject, figures, threshold, readOnly, changed } = props;
  const name = useName(rule, subject);
  const above = threshold === null ? '' : `, above ${percent(threshold)}`;
  const retry = figures?.retryAfterMs ?? null;
  const allowed = figures?.allowed ? 'now' : retry === null ? 'never' : duration(retry);
  return row(clientText(name, name), [
    clientText((route === null ? rule : `${rule}, ${route}`) + above),
    figure(figures ? `${count(figures.remaining)} of ${count(figures.limit)}` : '–'),
    figure(figures ? duration(figures.resetAfterMs) : '–'),
    figure(figures ? allowed : '–'),
    !readOnly && h(SubjectOperations, { rule, id: subject.id, name, changed }),
  ]);
}

function restrictionsTable(restrictions: readonly Restriction[], { readOnly, changed }: Row) {
  const heads = ['Subject', 'Rule', 'What', 'By', 'Why', 'Until', operationsHead(readOnly)];
  const rows = restrictions.map((each) => {
    const key = `${each.rule} ${each.subject.id} ${each.exception === undefined}`;
    return h(RestrictionRow, { key, ...each, readOnly, changed });
  });
  return table({ caption: 'Blocks and exceptions', heads }, rows);
}

function RestrictionRow(props: Restriction & Row) {
  const { rule, subject, exception, by, reason, at, endsInMs, readOnly, changed } = props;
  const isBlock = exception === undefined;
  const name = useName(rule, subject);
  const author = by ?? (isBlock ? 'a denial' : '');
  const undo = () => {
    const path = isBlock ? 'subjects/unblock' : 'subjects/unset';
    const ends = isBlock ? 'The block' : 'The exception';
    const permits = isBlock && by === undefined ? ' and it gets all its permits back' : '';
    const content = h('p', null, `${ends} of `, named(name, rule), ` ends${permits}.`);
    const body = { rule, subject: subject.id };
    confirm('Undo?', content, 'Undo', { path, body, done: `${ends} of ${name} has ended.`, changed });
  };
  const label = `Undo the ${isBlock ? 'block' : 'exception'} of ${name}, ${visible(rule)}`;
  return row(h(SubjectName, { rule, subject }), [
    clientText(rule),
    clientText(textOf(exception ?? 'blocked')),
    clientText(at === undefined ? author : `${author}, ${date(at)}`),
    clientText(reason ?? ''),
    endsInMs === null ? 'it is removed' : date(Date.now() + endsInMs),
    !readOnly && h('td', { class: 'operations' }, button('Undo', undo, { 'aria-label': label })),
  ]);
}
