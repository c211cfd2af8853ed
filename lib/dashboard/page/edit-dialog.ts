import type { SnapshotRule, Preview } from '../snapshot.js';
import { element, button, setText } from './element.js';
import { visible } from './visible-text.js';
import { report } from './announcements.js';
import { dialogButtons, openDialog } from './dialog.js';
import { count, counted, duration, milliseconds, percent } from './figures.js';
import { post, RefusedError } from './request.js';

type Values = Record<string, unknown>;

/** Fields that the form always has, in this order; others of the rule follow. */
const USUAL = ['limit', 'window', 'block', 'mode'];

const HINTS: Record<string, string> = {
  limit: 'a whole number',
  window: 'such as 10s, 1m, 1h',
  block: 'such as 5m, or empty for none',
};

const MODES = ['enforce', 'shadow'];

/** The inputs for the fields of a rule, which start with its present values. */
class EditForm {
  readonly node = element('div', { class: 'fields' });
  private readonly inputs = new Map<string, HTMLInputElement | HTMLSelectElement>();
  private readonly before = new Map<string, string>();

  constructor(private readonly rule: SnapshotRule) {
    const own = rule.fields.filter(({ editable }) => editable).map(({ name }) => name);
    for (const name of new Set([...USUAL, ...own])) this.node.append(this.field(name));
  }

  /** The fields of the live change: those of the present change, with what the reader has changed. */
  values(): Values {
    const values: Values = { ...this.rule.change?.fields };
    for (const [name, { value }] of this.inputs) {
      const text = value.trim();
      if (text === this.before.get(name)) continue;
      if (text === '') Reflect.deleteProperty(values, name);
      else values[name] = valueOf(text);
    }
    return values;
  }

  private field(name: string): HTMLElement {
    const field = this.rule.fields.find((each) => each.name === name);
    const isFunction = field?.value === 'function';
    const value = isFunction ? '' : (field?.value ?? (name === 'mode' ? MODES[0]! : ''));
    const id = `field-${name}`;
    const input =
      name === 'mode'
        ? modeInput(value, id)
        : element('input', { id, autocomplete: 'off', 'aria-describedby': `${id}-hint` });
    input.value = value;
    this.inputs.set(name, input);
    this.before.set(name, value);
    const origin = field
      ? `${isFunction ? 'a function of the request, ' : ''}from ${visible(field.from)}`
      : '';
    const hint = element('small', { id: `${id}-hint` }, [HINTS[name], origin].filter(Boolean).join('; '));
    return element('div', { class: 'field' }, element('label', { for: id }, name), input, hint);
  }
}

function modeInput(value: string, id: string): HTMLSelectElement {
  const modes = MODES.includes(value) ? MODES : [...MODES, value];
  return element(
    'select',
    { id, 'aria-describedby': `${id}-hint` },
    ...modes.map((mode) => element('option', { value: mode }, mode)),
  );
}

/** Numbers and JSON as such, and any other text as text: the server checks it. */
function valueOf(text: string): unknown {
  if (!/^(-?\d+(\.\d+)?|true|false|null|[[{].*)$/s.test(text)) return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** Milliseconds after the last key before the effect is calculated. */
const TYPING_MS = 300;

const ENDS = [
  ['', 'until it is removed'],
  ['10m', 'for 10 minutes'],
  ['1h', 'for 1 hour'],
  ['1d', 'for 1 day'],
  ['1w', 'for 1 week'],
] as const;

/** Opens the form that changes the limits of a rule, and shows what the change would have denied. */
export function openEditor(rule: SnapshotRule): void {
  const name = visible(rule.rule);
  const version = rule.change?.version ?? 0;
  const form = new EditForm(rule);
  const reason = element('input', { id: 'reason', maxlength: '1024', autocomplete: 'off' });
  const end = element(
    'select',
    { id: 'end' },
    ...ENDS.map(([value, text]) => element('option', { value }, text)),
  );
  const effect = element(
    'p',
    { class: 'effect', role: 'status' },
    rule.noPreview ?? 'Change a field to see its effect on the last ten minutes.',
  );
  const problem = element('p', { class: 'problem', role: 'alert' });
  const save = element('button', { class: 'primary' }, 'Save');
  const remove = button(
    'Remove live change',
    () => void send('rules/unset', {}, 'The live change was removed'),
    { class: 'aside' },
  );
  remove.hidden = !rule.change;
  const fields = element(
    'form',
    { class: 'edit', novalidate: '' },
    form.node,
    field('reason', 'Reason', reason),
    field('end', 'Applies', end),
    effect,
    problem,
    dialogButtons(remove, save),
  );
  const { dialog } = openDialog(`Edit ${name}`, fields);

  const send = async (path: string, body: object, done: string) => {
    save.disabled = remove.disabled = true;
    try {
      await post(path, { rule: rule.rule, version, ...body, ...(reason.value && { reason: reason.value }) });
      dialog.close();
      report(`${done}: ${name}.`);
    } catch (error) {
      setText(problem, messageOf(error));
      save.disabled = remove.disabled = false;
    }
  };
  fields.addEventListener('submit', (event) => {
    event.preventDefault();
    void send(
      'rules/set',
      { fields: form.values(), ...(end.value && { expires: end.value }) },
      'The change applies in every process',
    );
  });

  let typing: number | undefined;
  let asked = 0;
  form.node.addEventListener('input', () => {
    if (rule.noPreview !== null) return;
    clearTimeout(typing);
    typing = setTimeout(() => void preview(), TYPING_MS);
  });
  const preview = async () => {
    const request = ++asked;
    setText(effect, 'Calculating the effect…');
    try {
      const found = await post<Preview>('preview', { rule: rule.rule, fields: form.values() });
      if (request !== asked) return;
      setText(problem, '');
      setText(effect, effectText(found));
    } catch (error) {
      if (request !== asked) return;
      setText(effect, '');
      setText(problem, messageOf(error));
    }
  };
}

function field(id: string, label: string, input: HTMLElement): HTMLElement {
  return element('div', { class: 'field' }, element('label', { for: id }, label), input);
}

function messageOf(error: unknown): string {
  const { message } = error as Error;
  // A conflict about no rule is a loss of live rules.
  const isStale = error instanceof RefusedError && error.status === 409 && message.startsWith('rule ');
  return isStale
    ? `${message}\nSomeone else has changed the rule. Close this form and open it again.`
    : message;
}

function effectText(preview: Preview): string {
  const { requests, subjects, deniedNow, deniedThen, assumed, assumedHoldMs, seconds, sampled } = preview;
  if (requests === 0) return 'No request of this rule is known, so the effect is unknown.';
  const sample = sampled < 1 ? `, a sample of ${percent(sampled)}` : '';
  const of = `${counted(requests, 'request')} of ${counted(subjects, 'subject')} in ${duration(seconds * 1000)}${sample}`;
  const effect = `Of ${of}, ${count(deniedNow)} were denied; this change would have denied ${count(deniedThen)}.`;
  if (assumed === 0) return effect;
  const unknown = `${counted(assumed, 'denied request')} would have been allowed`;
  if (assumedHoldMs !== null) {
    const held = milliseconds(assumedHoldMs);
    return `${effect} ${unknown}: the preview assumes that they hold their permits for ${held}, as the others on average.`;
  }
  return `${effect} ${unknown}: their responses are unknown, and the preview counts them all.`;
}
