import { button, element } from './element.js';
import type { HistoryEntry } from '../snapshot.js';
import { date, duration } from './figures.js';
import { read } from './request.js';
import { visible } from './visible-text.js';

/**
 * Opens a modal dialog, which gives the focus back to the element that had it. Escape closes it.
 *
 * @returns the dialog, and a promise that resolves when it is closed
 */
export function openDialog(
  title: string,
  ...content: readonly Node[]
): { dialog: HTMLDialogElement; closed: Promise<void> } {
  const id = `dialog-${Date.now()}`;
  const dialog = element('dialog', { 'aria-labelledby': id }, element('h2', { id }, title), ...content);
  const opener = document.activeElement;
  document.body.append(dialog);
  const closed = new Promise<void>((resolve) => {
    dialog.addEventListener('close', () => {
      dialog.remove();
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
      resolve();
    });
  });
  dialog.showModal();
  return { dialog, closed };
}

/** The buttons of a dialog: one that closes it, and those that act. */
export function dialogButtons(...acting: readonly HTMLButtonElement[]): HTMLElement {
  const cancel = button('Cancel', () => cancel.closest('dialog')?.close(), { class: 'cancel' });
  return element(
    'div',
    { class: 'dialog-buttons' },
    ...acting.filter((each) => each.matches('.aside')),
    cancel,
    ...acting.filter((each) => !each.matches('.aside')),
  );
}

/** What a dialog asks for before it acts. */
interface Question {
  readonly title: string;
  readonly text: Node;
  /** The label of the button that acts. */
  readonly action: string;
  readonly fields?: readonly Node[];
  /** Acts. If it rejects, the dialog stays open with the message. */
  readonly run: () => Promise<void>;
}

/** Asks before something is done. The focus starts at Cancel. */
export function confirmed({ title, text, action, fields = [], run }: Question): void {
  const problem = element('p', { class: 'problem', role: 'alert' });
  const act = button(action, () => void attempt(), { class: 'danger' });
  const { dialog } = openDialog(title, text, ...fields, problem, dialogButtons(act));
  dialog.querySelector<HTMLElement>('.cancel')?.focus();
  const attempt = async () => {
    act.disabled = true;
    try {
      await run();
      dialog.close();
    } catch (error) {
      problem.textContent = (error as Error).message;
      act.disabled = false;
    }
  };
}

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
