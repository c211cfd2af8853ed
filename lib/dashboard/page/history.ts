import { h } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { HistoryEntry, Snapshot } from '../snapshot.js';
import type { Mark } from './charts.js';
import { confirm, findings, openDialog, reasonField, useReading } from './dialog.js';
import { button, clientText, operationsHead, table } from './elements.js';
import { date } from './figures.js';
import { SubjectName } from './names.js';
import { read } from './request.js';
import { textOf, visible } from './visible-text.js';

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
  const cell = (text: string) => h('td', null, clientText(text));
  const row = (record: HistoryEntry) => {
    const { version, at, by, rule, subject, reason = '', canUndo, expiresInMs } = record;
    const name = subject && [', ', h(SubjectName, { rule, subject })];
    const run = () => undo(record, changed);
    const label = { 'aria-label': `Undo ${visible(rule)} of ${date(at)}` };
    return h('tr', { key: version }, [
      cell(date(at)),
      cell(by),
      h('td', null, clientText(rule), name),
      cell(record.loss === undefined ? fieldsText(record.before, 'unknown') : ''),
      cell(record.loss === undefined ? fieldsText(record.fields ?? null, '') : `lost rules ${record.loss}`),
      cell(expiresInMs === undefined ? '' : date(at + expiresInMs)),
      cell(reason),
      !readOnly && h('td', { class: 'operations' }, canUndo && button('Undo', run, label)),
    ]);
  };
  const heads = ['When', 'Who', 'Rule', 'From', 'To', 'Until', 'Why', operationsHead(readOnly)];
  return table({ caption: 'Changes', heads }, records.map(row));
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
