import { Fragment, h, render, type ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { report } from './announcements.js';
import { button } from './elements.js';
import { post } from './request.js';

/** Opens a modal dialog, which gives the focus back to the element that had it. Escape closes it. */
export function openDialog(title: string, content: (close: () => void) => ComponentChildren): void {
  const dialog = document.createElement('dialog');
  const opener = document.activeElement;
  dialog.setAttribute('aria-labelledby', 'dialog-title');
  dialog.addEventListener('close', () => {
    render(null, dialog);
    dialog.remove();
    if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
  });
  const close = () => dialog.close();
  render(h(Fragment, null, h('h2', { id: 'dialog-title' }, title), content(close)), dialog);
  document.body.append(dialog);
  dialog.showModal();
}

/** The times that a reader can choose for a block or a change. */
export const LENGTHS: FormTexts = { '10m': '10 minutes', '1h': '1 hour', '1d': '1 day', '1w': '1 week' };

/** The texts of the fields of a form by their names. */
export type FormTexts = Readonly<Record<string, string>>;

/** The state of a form in a dialog. */
export function useForm(close: () => void) {
  /** Why the last attempt failed. */
  const [problem, setProblem] = useState('');
  const [isRunning, setRunning] = useState(false);
  /** Runs the submitted action; closes the dialog on success, otherwise shows the error. */
  const attempt = async (run: () => Promise<void>) => {
    setRunning(true);
    try {
      await run();
      close();
    } catch (error) {
      setProblem((error as Error).message);
      setRunning(false);
    }
  };
  return { close, problem, setProblem, attempt, isRunning };
}

/** What a form of a dialog does. */
interface FormOptions {
  readonly content: ComponentChildren;
  /** The label of the button that acts. */
  readonly action: string;
  readonly run: (texts: FormTexts) => Promise<void>;
  /** A button apart from the others. */
  readonly aside?: ComponentChildren;
  readonly attributes?: object;
}

/** The form of a dialog. Without other attributes, the focus starts at Cancel. */
export function dialogForm(state: ReturnType<typeof useForm>, options: FormOptions) {
  const { content, action, run, aside, attributes } = options;
  const kind = attributes ? 'primary' : 'danger';
  return form({ ...attributes }, (texts) => void state.attempt(() => run(texts)), [
    content,
    h('p', { class: 'problem', role: 'alert' }, state.problem),
    h('div', { class: 'dialog-buttons' }, [
      aside,
      button('Cancel', state.close, { autofocus: !attributes }),
      h('button', { class: kind, disabled: state.isRunning }, action),
    ]),
  ]);
}

/** A form that calls a function with its texts. */
function form(attributes: object, submit: (texts: FormTexts) => void, content: ComponentChildren) {
  const onSubmit = (event: Event) => {
    event.preventDefault();
    submit(textsOf(event.currentTarget as HTMLFormElement));
  };
  return h('form', { onSubmit, ...attributes }, content);
}

export function textsOf(form: HTMLFormElement): FormTexts {
  return Object.fromEntries(new FormData(form)) as FormTexts;
}

export function reasonField() {
  const input = h('input', { name: 'reason', maxLength: 1024, autocomplete: 'off' });
  return h('label', { class: 'field' }, h('span', null, 'Reason'), input);
}

/** The status of what a dialog reads, and a function that reads it: it returns the next status. */
export function useReading(initial: string) {
  const [status, setStatus] = useState(initial);
  const read = async (run: () => Promise<string>, meanwhile = status) => {
    setStatus(meanwhile);
    setStatus(await run().catch((error: unknown) => (error as Error).message));
  };
  return [status, read] as const;
}

/** A form that calls a function with a text. */
export function searchForm(name: string, [label, action]: readonly string[], search: (text: string) => void) {
  return form({ class: 'find' }, (texts) => search(texts[name]!.trim()), [
    h('label', { for: name }, label),
    h('input', { id: name, name, autocomplete: 'off', maxLength: 4096 }),
    h('button', { class: 'primary' }, action),
  ]);
}

interface Findings {
  readonly close: () => void;
  readonly status: string;
  /** What the content is, for screen readers. */
  readonly label: string;
  readonly form?: ComponentChildren;
}

/** What a dialog has read, with a form above it, and buttons before the one that closes it. */
export function findings(options: Findings, content: ComponentChildren, buttons?: ComponentChildren) {
  const { close, status, label, form } = options;
  return [
    form,
    h('p', { role: 'status' }, status),
    h('div', { class: 'history', tabIndex: 0, role: 'region', 'aria-label': label }, content),
    h('div', { class: 'dialog-buttons' }, buttons, button('Close', close, { autofocus: !form })),
  ];
}

interface Change {
  readonly path: string;
  /** Sent with the fields that are filled in. */
  readonly body?: object;
  readonly done: string | ((texts: FormTexts) => string);
  /** Called when the change is made. */
  readonly changed?: (() => Promise<void>) | undefined;
}

/** Sends a change when the reader has confirmed it, and reports it. The content may have fields. */
export function confirm(title: string, content: ComponentChildren, action: string, change: Change): void {
  const { path, body, done, changed } = change;
  const run = async (texts: FormTexts) => {
    const filled = Object.entries(texts).filter(([, text]) => text !== '');
    await post(path, { ...body, ...Object.fromEntries(filled) });
    report(typeof done === 'string' ? done : done(texts));
    await changed?.();
  };
  const Confirmation = ({ close }: { close: () => void }) =>
    dialogForm(useForm(close), { content, action, run });
  openDialog(title, (close) => h(Confirmation, { close }));
}
