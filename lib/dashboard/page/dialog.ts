import { button, element } from './element.js';

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
export interface Question {
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
