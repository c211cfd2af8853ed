/** An element of a list, and how it shows another state of its item. */
export interface Row<Item> {
  readonly node: Element;
  update(item: Item): void;
}

/**
 * Shows a list of items as elements. An item keeps its element, and with it the focus, the selection and whether it is
 * expanded. While the list has the focus or the pointer, elements are not moved.
 */
export class KeyedList<Item> {
  private readonly rows = new Map<string, Row<Item>>();

  constructor(
    private readonly parent: Element,
    private readonly keyOf: (item: Item) => string,
    private readonly create: (item: Item) => Row<Item>,
    /** The element that the list follows. */
    private readonly first: Element | null = null,
  ) {}

  /** @param mayMove whether elements may be moved */
  update(items: readonly Item[], mayMove = !this.parent.matches(':hover, :focus-within')): void {
    const keys = new Set(items.map(this.keyOf));
    for (const [key, { node }] of this.rows) {
      if (keys.has(key)) continue;
      node.remove();
      this.rows.delete(key);
    }
    let last = this.first;
    for (const item of items) {
      const known = this.rows.get(this.keyOf(item));
      const row = known ?? this.create(item);
      if (!known) this.rows.set(this.keyOf(item), row);
      row.update(item);
      if (!known || (mayMove && row.node.previousElementSibling !== last))
        insertAfter(this.parent, row.node, last);
      last = row.node;
    }
  }
}

function insertAfter(parent: Element, node: Element, sibling: Element | null): void {
  if (sibling) sibling.after(node);
  else parent.prepend(node);
}
