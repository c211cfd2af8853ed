import { h } from 'preact';
import type { Snapshot, SnapshotLive } from '../snapshot.js';
import { confirm, reasonField } from './dialog.js';
import { button, clientText } from './elements.js';
import { textOf, visible } from './visible-text.js';
import { date } from './figures.js';
import { SubjectName } from './names.js';

/** What an operator can decide about lost rules. */
const DECISIONS = {
  restore: {
    label: 'Restore the rules in force',
    text: 'The rules in force are stored again, with their authors and ends. What the source holds is deleted.',
    done: 'The rules in force are stored again.',
  },
  accept: {
    label: 'Accept the source',
    text: 'What the source holds applies in every process. The rules in force that it does not hold end.',
    done: 'The rules of the source apply in every process.',
  },
} as const;

/** Shows live rules that were lost, those in force and those in the source, with the buttons that end the loss. */
export function Loss({ loss, readOnly }: Pick<Snapshot, 'loss' | 'readOnly'>) {
  const text = loss && `${date(loss.at)}: ${loss.reason}. The last rules stay in force.`;
  return h('section', { id: 'loss', 'aria-labelledby': 'loss-title', hidden: loss === null }, [
    h('h2', { id: 'loss-title' }, 'Live rules were lost'),
    h('p', { role: 'status' }, visible(text ?? '')),
    h('div', { class: 'loss-lists' }, [
      liveRules('In force', loss?.inForce ?? []),
      liveRules('In the source', loss?.stored ?? []),
    ]),
    !readOnly &&
      h('div', { class: 'loss-actions' }, [
        button(DECISIONS.restore.label, () => decide('restore'), { class: 'primary' }),
        button(DECISIONS.accept.label, () => decide('accept')),
      ]),
  ]);
}

function liveRules(title: string, rules: readonly SnapshotLive[]) {
  const row = ({ rule, subject, fields }: SnapshotLive) => {
    const value = textOf(fields);
    const of = subject && [', ', h(SubjectName, { rule, subject })];
    const key = `${rule} ${subject?.id} ${value}`;
    return h('li', { key }, clientText(rule), of, ' ', h('code', null, visible(value)));
  };
  return h('div', null, h('h3', null, title), h('ul', { class: 'plain' }, rules.map(row)));
}

function decide(how: keyof typeof DECISIONS): void {
  const { label, text, done } = DECISIONS[how];
  confirm(`${label}?`, [h('p', null, text), reasonField()], label, { path: `rules/${how}`, done });
}
