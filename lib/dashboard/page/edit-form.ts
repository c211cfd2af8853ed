import type { SnapshotRule } from '../snapshot.js';
import { element } from './element.js';
import { visible } from './visible-text.js';

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
export class EditForm {
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
