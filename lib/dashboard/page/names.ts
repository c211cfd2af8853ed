import { h } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { NamedSubject } from '../snapshot.js';
import { report } from './announcements.js';
import { button, clientText } from './elements.js';
import { visible } from './visible-text.js';
import { post } from './request.js';

/** Subjects in one request, whose length is limited. */
const AT_ONCE = 15;

/** Subjects that the reader has seen unmasked, by their ids. */
const names = new Map<string, string>();
/** Subjects on the page that are to be unmasked: the rule of each id. */
const wanted = new Map<string, string>();
const listeners = new Set<() => void>();
let isShown = false;
let isLoading = false;

/** The button that unmasks all subjects on the page, for readers with the right to see them, until it is pressed again. */
export function NamesButton() {
  useRenders();
  return button('Show subjects', () => show(!isShown), { 'aria-pressed': isShown });
}

/** Returns a subject as the reader may see it now: masked unless the reader has unmasked it. */
export function useName(rule: string, { id, subject }: NamedSubject): string {
  useRenders();
  useEffect(() => {
    if (!isShown || names.has(id)) return;
    wanted.set(id, rule);
    void load();
  });
  return visible((isShown ? names.get(id) : undefined) ?? subject);
}

export function SubjectName({ rule, subject }: { rule: string; subject: NamedSubject }) {
  const name = useName(rule, subject);
  return clientText(name, name);
}

/** Renders the component again when subjects are masked or unmasked. */
function useRenders(): void {
  const [, setCount] = useState(0);
  useEffect(() => {
    const listener = () => setCount((count) => count + 1);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
}

function show(isWanted: boolean): void {
  isShown = isWanted;
  names.clear();
  wanted.clear();
  for (const listener of listeners) listener();
}

/** Loads the wanted subjects, those of one rendering together. */
async function load(): Promise<void> {
  if (isLoading) return;
  isLoading = true;
  try {
    await Promise.resolve();
    while (wanted.size > 0) {
      const part = [...wanted].slice(0, AT_ONCE).map(([id, rule]) => ({ rule, id }));
      const { subjects } = await post<{ subjects: readonly string[] }>('unmask', { subjects: part });
      if (isShown) part.forEach(({ id }, index) => names.set(id, subjects[index]!));
      for (const { id } of part) wanted.delete(id);
      for (const listener of listeners) listener();
    }
  } catch (error) {
    show(false);
    report((error as Error).message, 'failed');
  } finally {
    isLoading = false;
  }
}

/** A text with the name of a subject and its rule, whose direction does not reach the text around it. */
export function named(name: string, rule: string) {
  return h('bdi', null, `${name} of rule ${visible(rule)}`);
}
