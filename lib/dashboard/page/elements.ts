import { h, isValidElement, type ComponentChild, type MouseEventHandler, type Ref } from 'preact';
import { visible } from './figures.js';
import { useRef } from 'preact/hooks';

/** A text of a client, whose direction does not reach the text around it. */
export function clientText(text: string, title?: string) {
  return h('bdi', { title }, visible(text));
}

type Click = MouseEventHandler<HTMLButtonElement>;

/** A button that does not submit a form. */
export function button(text: ComponentChild, onClick: Click, attributes: object = {}) {
  return h('button', { type: 'button', onClick, ...attributes }, text);
}

/** A cell with a figure. */
export function figure(text: string, kind = '', attributes: object = {}) {
  return h('td', { class: `figure ${kind}`, ...attributes }, text);
}

interface Table {
  /** The caption, which is hidden, and the heads of the columns; `null` leaves one out. */
  readonly caption: string;
  readonly heads: readonly (ComponentChild | null)[];
  /** The first column with figures, and the first one behind them. */
  readonly figures?: readonly [from: number, until: number];
  /** Refers to the element of the rows. */
  readonly list?: Ref<HTMLTableSectionElement>;
}

/** A table with its rows. */
export function table(
  { caption, heads, figures = [0, 0], list, ...attributes }: Table & Readonly<Record<string, unknown>>,
  rows: readonly ComponentChild[],
) {
  const [from, until] = figures;
  const head = (text: ComponentChild, index: number) =>
    text !== null && h('th', { scope: 'col', class: index >= from && index < until ? 'figure' : '' }, text);
  return h('table', attributes, [
    h('caption', { class: 'hidden' }, caption),
    h('thead', null, h('tr', null, heads.map(head))),
    h('tbody', { ref: list }, rows),
  ]);
}

/** The head of a column of operations; `null` without them. */
export function operationsHead(readOnly: boolean) {
  return readOnly ? null : h('span', { class: 'hidden' }, 'Operations');
}

/** A row, with its first cell as head. Content that is no cell gets one. */
export function row(head: ComponentChild, cells: readonly ComponentChild[], attributes: object = {}) {
  const isCell = (content: ComponentChild) =>
    content === false || (isValidElement(content) && content.type === 'td');
  const cell = (content: ComponentChild) => (isCell(content) ? content : h('td', null, content));
  return h('tr', attributes, h('th', { scope: 'row' }, head), cells.map(cell));
}

/** A part of the details of a rule. */
export function titled(title: string, ...content: readonly ComponentChild[]) {
  return h('section', null, h('h3', null, title), content);
}

/**
 * Returns the items of a list in the order to show them, and the reference for its element. While the list has the focus
 * or the pointer, the items stay where they are, and new ones come last.
 *
 * @param order the order that the reader has chosen: when it changes, items move in any case
 */
export function useSteadyList<Item>(items: readonly Item[], keyOf: (item: Item) => string, order = '') {
  const list = useRef<HTMLTableElement & HTMLTableSectionElement>(null);
  const shown = useRef({ order, keys: [] as readonly string[] });
  const byKey = new Map(items.map((item) => [keyOf(item), item]));
  const isHeld = order === shown.current.order && list.current?.matches(':hover, :focus-within');
  const held = isHeld ? shown.current.keys.filter((key) => byKey.has(key)) : [];
  const keys = [...new Set([...held, ...byKey.keys()])];
  shown.current = { order, keys };
  return [list, keys.map((key) => byKey.get(key)!)] as const;
}
