import { h, type ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { NamedSubject, Preview, SnapshotRule } from '../snapshot.js';
import { report } from './announcements.js';
import { dialogForm, LENGTHS, openDialog, reasonField, textsOf, useForm, type FormTexts } from './dialog.js';
import { button } from './elements.js';
import { count, counted, duration, milliseconds, visible } from './figures.js';
import { post } from './request.js';

/** Fields that the form always has, in this order; others of the rule follow. */
const USUAL = ['limit', 'window', 'block', 'mode'];

const HINTS: Record<string, string> = {
  limit: 'a whole number',
  window: 'such as 10s, 1m, 1h',
  block: 'such as 5m, or empty for none',
};

const MODES = ['enforce', 'shadow'];

/** Milliseconds after the last key before the effect is calculated. */
const TYPING_MS = 300;

/** What is filled in: an end, and the only subject that the change is for. */
interface Filled {
  readonly end?: string;
  readonly subject?: NamedSubject;
}

/** Opens the form that changes the limits of a rule, and shows what the change would have denied. */
export function openEditor(rule: SnapshotRule, filled: Filled = {}): void {
  const { subject } = filled;
  const title = `Edit ${visible(rule.rule)}${subject ? ` for ${visible(subject.subject)}` : ''}`;
  openDialog(title, (close) => h(Editor, { rule, close, ...filled }));
}

function Editor(props: Filled & { rule: SnapshotRule; close: () => void }) {
  const { rule, subject } = props;
  const state = useForm(props.close);
  const [effect, setEffect] = useState(
    rule.noPreview ?? 'Change a field to see its effect on the last ten minutes.',
  );
  const typing = useRef<number>();
  const asked = useRef(0);

  const target = subject ? { subject: subject.id } : { version: rule.change?.version ?? 0 };
  const send = async (path: string, body: object, reason: string | undefined, done: string) => {
    await post(path, { rule: rule.rule, ...target, ...body, ...(reason && { reason }) });
    report(`${done}: ${visible(rule.rule)}.`);
  };
  const save = (texts: FormTexts) => {
    const { end, reason } = texts;
    const [path, what] = subject ? ['subjects/set', 'exception'] : ['rules/set', 'change'];
    const body = { fields: changedFields(rule, texts, subject && {}), ...(end && { expires: end }) };
    return send(path, body, reason, `The ${what} applies in every process`);
  };
  const remove = ({ currentTarget }: { currentTarget: HTMLButtonElement }) => {
    const { reason } = textsOf(currentTarget.form!);
    void state.attempt(() => send('rules/unset', {}, reason, 'The live change was removed'));
  };
  const preview = async (texts: FormTexts) => {
    const request = ++asked.current;
    setEffect('Calculating the effect…');
    const of = { rule: rule.rule, fields: changedFields(rule, texts), subject: subject?.id };
    const [text, problem] = await post<Preview>('rules/preview', of).then(
      (found) => [effectText(found), ''] as const,
      (error: unknown) => ['', (error as Error).message] as const,
    );
    if (request !== asked.current) return;
    setEffect(text);
    state.setProblem(problem);
  };
  const onInput = ({ currentTarget }: { currentTarget: HTMLElement }) => {
    if (rule.noPreview !== null) return;
    const form = currentTarget.closest('form')!;
    clearTimeout(typing.current);
    typing.current = setTimeout(() => void preview(textsOf(form)), TYPING_MS);
  };

  const fields = namesOf(rule).map((name) => ruleField(rule, name));
  const removal = { class: 'aside', disabled: state.isRunning };
  const option = (value: string, text: string) => h('option', { value, selected: value === props.end }, text);
  const lengths = Object.entries(LENGTHS).map(([value, text]) => option(value, `for ${text}`));
  const ends = [option('', 'until it is removed'), lengths];
  return dialogForm(state, {
    content: [
      h('div', { class: 'fields', onInput }, fields),
      reasonField(),
      field('end', 'Applies', h('select', { id: 'end', name: 'end' }, ends)),
      h('p', { class: 'effect', role: 'status' }, effect),
    ],
    action: 'Save',
    run: save,
    aside: !subject && rule.change && button('Remove live change', remove, removal),
    attributes: { class: 'edit', noValidate: true },
  });
}

function field(id: string, label: string, input: ComponentChildren, hint?: ComponentChildren) {
  return h('div', { class: 'field' }, h('label', { for: id }, label), input, hint);
}

function ruleField(rule: SnapshotRule, name: string) {
  const known = rule.fields.find((each) => each.name === name);
  const id = `field-${name}`;
  const value = initialText(rule, name);
  const attributes = { id, name: id, 'aria-describedby': `${id}-hint` };
  const option = (mode: string) => h('option', { selected: mode === value }, mode);
  const input =
    name === 'mode'
      ? h('select', attributes, [...new Set([...MODES, value])].map(option))
      : h('input', { ...attributes, defaultValue: value, autocomplete: 'off' });
  const isFunction = known?.value === 'function';
  const origin = known && `${isFunction ? 'a function of the request, ' : ''}from ${visible(known.from)}`;
  const hint = [HINTS[name], origin].filter(Boolean).join('; ');
  return field(id, name, input, h('small', { id: `${id}-hint` }, hint));
}

function namesOf({ fields }: SnapshotRule): readonly string[] {
  const own = fields.filter(({ editable }) => editable).map(({ name }) => name);
  return [...new Set([...USUAL, ...own])];
}

function initialText({ fields }: SnapshotRule, name: string): string {
  const value = fields.find((each) => each.name === name)?.value;
  if (value === 'function') return '';
  return value ?? (name === 'mode' ? MODES[0]! : '');
}

/** The fields of the live change: those of the present change, with what the reader has changed. */
function changedFields(
  rule: SnapshotRule,
  texts: FormTexts,
  present: Readonly<Record<string, unknown>> = rule.change?.fields ?? {},
): Record<string, unknown> {
  const values: Record<string, unknown> = { ...present };
  for (const name of namesOf(rule)) {
    const text = texts[`field-${name}`]!.trim();
    if (text === initialText(rule, name)) continue;
    if (text === '') Reflect.deleteProperty(values, name);
    else values[name] = valueOf(text);
  }
  return values;
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

function effectText(preview: Preview): string {
  const { requests, assumed, assumedHoldMs, sampled } = preview;
  const [subjects, time] = [counted(preview.subjects, 'subject'), duration(preview.seconds * 1000)];
  const [recorded, now, then] = [preview.deniedRecorded, preview.deniedNow, preview.deniedThen].map(count);
  if (requests === 0) return 'No request of this rule is known, so the effect is unknown.';
  const sample = `1 subject in ${count(1 / sampled)}`;
  const of = `${counted(requests, 'request')} of ${subjects} in ${time}`;
  const effect = `Recorded${sampled < 1 ? ` (${sample})` : ''}: ${of}, ${recorded} denied. The rule in force would have denied ${now} of them; this change would have denied ${then}.`;
  if (assumed === 0) return effect;
  const unknown = `${counted(assumed, 'denied request')} would have been allowed`;
  if (assumedHoldMs !== null) {
    const held = milliseconds(assumedHoldMs);
    return `${effect} ${unknown}: the preview assumes that they hold their permits for ${held}, as the others on average.`;
  }
  return `${effect} ${unknown}: their responses are unknown, and the preview counts them all.`;
}
