import type { RefObject } from 'preact';
import { useRef } from 'preact/hooks';

/**
 * Returns the items of a list in the order to show them, and the reference for its element. While the list has the focus
 * or the pointer, the items stay where they are.
 *
 * @param order the order that the reader has chosen: when it changes, items move in any case
 */
export function useSteadyList<Item>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
  order = '',
): [list: RefObject<HTMLTableElement & HTMLTableSectionElement>, items: readonly Item[]] {
  const list = useRef<HTMLTableElement & HTMLTableSectionElement>(null);
  const shown = useRef({ order, keys: [] as readonly string[] });
  const byKey = new Map(items.map((item) => [keyOf(item), item]));
  const isHeld = order === shown.current.order && list.current?.matches(':hover, :focus-within');
  const keys = isHeld ? heldKeys(shown.current.keys, byKey) : [...byKey.keys()];
  shown.current = { order, keys };
  return [list, keys.map((key) => byKey.get(key)!)];
}

/** The keys that were shown, in their order, and each new one behind the one that it follows. */
function heldKeys(shown: readonly string[], wanted: ReadonlyMap<string, unknown>): readonly string[] {
  const known = new Set(shown);
  const keys = shown.filter((key) => wanted.has(key));
  let last: string | undefined;
  for (const key of wanted.keys()) {
    if (!known.has(key)) keys.splice(last === undefined ? 0 : keys.indexOf(last) + 1, 0, key);
    last = key;
  }
  return keys;
}
