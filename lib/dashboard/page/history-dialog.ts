import type { HistoryEntry } from '../snapshot.js';
import { openDialog } from './dialog.js';
import { button, element } from './element.js';
import { date, duration } from './figures.js';
import { read } from './request.js';
import { visible } from './visible-text.js';

const HEADS = ['When', 'Who', 'Change', 'Why'];

/** Shows who has changed a rule, when, what and why. */
export async function openHistory(rule: string): Promise<void> {
  const content = element('div', { class: 'history', role: 'region', 'aria-live': 'polite' }, 'Loading…');
  const close = button('Close', () => dialog.close(), { class: 'cancel' });
  const { dialog } = openDialog(
    `History of ${visible(rule)}`,
    content,
    element('div', { class: 'dialog-buttons' }, close),
  );
  dialog.classList.add('wide');
  close.focus();
  try {
    const records = await read<HistoryEntry[]>(`history?rule=${encodeURIComponent(rule)}`);
    content.replaceChildren(records.length === 0 ? 'The rule has not been changed.' : tableOf(records));
  } catch (error) {
    content.replaceChildren(element('p', { class: 'problem' }, (error as Error).message));
  }
}

function tableOf(records: readonly HistoryEntry[]): HTMLElement {
  const heads = HEADS.map((head) => element('th', { scope: 'col' }, head));
  return element(
    'table',
    {},
    element('thead', {}, element('tr', {}, ...heads)),
    element('tbody', {}, ...records.map(rowOf)),
  );
}

function rowOf(record: HistoryEntry): HTMLElement {
  const texts = [date(record.at), record.by, changeOf(record), record.reason ?? ''];
  return element('tr', {}, ...texts.map((text) => element('td', {}, element('bdi', {}, visible(text)))));
}

function changeOf({ fields, subject, expiresInMs, loss }: HistoryEntry): string {
  if (loss !== undefined) return `lost live rules ${loss}`;
  const of = subject === undefined ? '' : `${subject}: `;
  if (fields === undefined) return `${of}removed`;
  const set =
    typeof fields === 'string'
      ? fields
      : Object.entries(fields as object)
          .map(([name, value]) => `${name} ${textOf(value)}`)
          .join(', ');
  return `${of}${set}${expiresInMs === undefined ? '' : ` for ${duration(expiresInMs)}`}`;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
