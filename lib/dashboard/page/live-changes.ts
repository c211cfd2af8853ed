import { Fragment, h } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { HistoryEntry, Snapshot, SnapshotLive } from '../snapshot.js';
import type { Mark } from './charts.js';
import { confirm, findings, openDialog, reasonField, useReading } from './dialog.js';
import { button, clientText, operationsHead, row, table } from './elements.js';
import { date, textOf, visible } from './figures.js';
import { read } from './request.js';
import { SubjectName } from './subjects.js';

/** Returns marks of the last changes of all rules, or of one; none while they cannot be read. */
export function useMarks({ live, loss, rules }: Snapshot, of?: string): readonly Mark[] {
  const [changes, setChanges] = useState<readonly HistoryEntry[]>([]);
  const versions = rules.map(({ change, exceptions }) => [change?.version, exceptions]);
  useEffect(() => {
    if (live) void read<HistoryEntry[]>('history').then(setChanges, () => undefined);
  }, [[live, loss?.at, versions].join()]);
  const marked = changes.filter(({ rule }) => of === undefined || rule === of);
  return marked.map(({ at, by, rule }) => ({ at, text: `${visible(rule)} changed by ${visible(by)}` }));
}

/** Opens the list of who has changed a rule, or any rule without a name: when, from what to what, and why. */
export function openHistory(readOnly: boolean, rule?: string): void {
  const title = rule === undefined ? 'What changed' : `History of ${visible(rule)}`;
  openDialog(title, (close) => h(History, { rule, readOnly, close }));
}

function History(options: { rule: string | undefined; readOnly: boolean; close: () => void }) {
  const { rule, readOnly, close } = options;
  const [records, setRecords] = useState<readonly HistoryEntry[]>([]);
  const [status, reading] = useReading('Loading…');
  const query = rule === undefined ? '' : `?rule=${encodeURIComponent(rule)}`;
  const load = () =>
    reading(async () => {
      const found = await read<HistoryEntry[]>(`history${query}`);
      setRecords(found);
      return found.length === 0 ? 'No change is known.' : '';
    });
  useEffect(() => void load(), []);
  const content = records.length > 0 && changesTable(records, readOnly, load);
  return findings({ close, status, label: 'Changes' }, content);
}

function changesTable(records: readonly HistoryEntry[], readOnly: boolean, changed: () => Promise<void>) {
  const changeRow = (record: HistoryEntry) => {
    const { version, at, by, rule, subject, loss, reason = '', canUndo, expiresInMs } = record;
    const isLoss = loss !== undefined;
    const label = { 'aria-label': `Undo ${visible(rule)} of ${date(at)}` };
    const undoing = canUndo && button('Undo', () => undo(record, changed), label);
    const cells = [
      clientText(by),
      ruleOf(rule, subject),
      clientText(isLoss ? '' : fieldsText(record.before, 'unknown')),
      clientText(isLoss ? `lost rules ${loss}` : fieldsText(record.fields ?? null, '')),
      expiresInMs === undefined ? '' : date(at + expiresInMs),
      clientText(reason),
      !readOnly && h('td', { class: 'operations' }, undoing),
    ];
    return row(date(at), cells, { key: version });
  };
  const heads = ['When', 'Who', 'Rule', 'From', 'To', 'Until', 'Why', operationsHead(readOnly)];
  return table({ caption: 'Changes', heads }, records.map(changeRow));
}

/** A rule, and the subject of its exception. */
function ruleOf(rule: string, subject: SnapshotLive['subject']) {
  return h(Fragment, null, clientText(rule), subject && [', ', h(SubjectName, { rule, subject })]);
}

function undo({ version, rule, before }: HistoryEntry, changed: () => Promise<void>): void {
  const text = `What was in force before applies again: ${fieldsText(before, '')}.`;
  const content = [h('p', null, h('bdi', null, `${visible(rule)}: ${visible(text)}`)), reasonField()];
  const done = `The change of ${visible(rule)} is undone.`;
  confirm('Undo the change?', content, 'Undo', { path: 'rules/undo', body: { version }, done, changed });
}

/** @param fields `null` for those of the code */
function fieldsText(fields: unknown, unknown: string): string {
  if (fields === undefined) return unknown;
  if (fields === null) return 'as in the code';
  if (typeof fields === 'string') return fields;
  return Object.entries(fields)
    .map(([name, value]) => `${name} ${textOf(value)}`)
    .join(', ');
}

/** What an operator can decide about lost rules. */
const DECISIONS = {
  restore: {
    label: 'Restore the rules in force',
    text: 'The rules in force are stored again, with their authors and ends. What the source holds is deleted.',
    done: 'The rules in force are stored again.',
  },
  accept: {
    label: 'Accept the source',
    text: 'What the source holds applies in every process. The rules in force that it does not hold end.',
    done: 'The rules of the source apply in every process.',
  },
} as const;

/** Shows live rules that were lost, those in force and those in the source, with the buttons that end the loss. */
export function Loss({ loss, readOnly }: Pick<Snapshot, 'loss' | 'readOnly'>) {
  const text = loss && `${date(loss.at)}: ${loss.reason}. The last rules stay in force.`;
  return h('section', { id: 'loss', 'aria-labelledby': 'loss-title', hidden: loss === null }, [
    h('h2', { id: 'loss-title' }, 'Live rules were lost'),
    h('p', { role: 'status' }, visible(text ?? '')),
    h('div', { class: 'loss-lists' }, [
      liveRules('In force', loss?.inForce ?? []),
      liveRules('In the source', loss?.stored ?? []),
    ]),
    !readOnly &&
      h('div', { class: 'loss-actions' }, [
        button(DECISIONS.restore.label, () => decide('restore'), { class: 'primary' }),
        button(DECISIONS.accept.label, () => decide('accept')),
      ]),
  ]);
}

function liveRules(title: string, rules: readonly SnapshotLive[]) {
  const row = ({ rule, subject, fields }: SnapshotLive) => {
    const value = textOf(fields);
    const key = `${rule} ${subject?.id} ${value}`;
    return h('li', { key }, ruleOf(rule, subject), ' ', h('code', null, visible(value)));
  };
  return h('div', null, h('h3', null, title), h('ul', { class: 'plain' }, rules.map(row)));
}

function decide(how: keyof typeof DECISIONS): void {
  const { label, text, done } = DECISIONS[how];
  confirm(`${label}?`, [h('p', null, text), reasonField()], label, { path: `rules/${how}`, done });
}
