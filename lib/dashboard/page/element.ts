type Child = Node | string;

/**
 * Creates an element with attributes and children. Texts become text nodes, so that names and subjects, which come from
 * clients, never are HTML. Attributes are set by the code of the page only.
 */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Readonly<Record<string, string>> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  const created = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) created.setAttribute(name, value);
  created.append(...children);
  return created;
}

/** Creates an element of SVG. */
export function drawing<Tag extends keyof SVGElementTagNameMap>(
  tag: Tag,
  attributes: Readonly<Record<string, string>> = {},
): SVGElementTagNameMap[Tag] {
  const created = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) created.setAttribute(name, value);
  return created;
}

/** Creates a button that does not submit a form. */
export function button(text: string, onClick: () => void, attributes: Readonly<Record<string, string>> = {}) {
  const created = element('button', { type: 'button', ...attributes }, text);
  created.addEventListener('click', onClick);
  return created;
}

/** Returns the element of the page with an id. */
export function byId(id: string): HTMLElement {
  return document.getElementById(id)!;
}

/** Changes a text. An equal text is left alone, so that a selection in it stays. */
export function setText(node: Node, text: string): void {
  if (node.textContent !== text) node.textContent = text;
}

/** Changes an attribute if it differs. */
export function setAttribute(node: Element, name: string, value: string): void {
  if (node.getAttribute(name) !== value) node.setAttribute(name, value);
}
