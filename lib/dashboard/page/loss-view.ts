import type { Snapshot, SnapshotLive } from '../snapshot.js';
import { report } from './announcements.js';
import { confirmed } from './dialog.js';
import { button, byId, element, setText } from './element.js';
import { date } from './figures.js';
import { KeyedList, type Row } from './keyed-list.js';
import { post } from './request.js';
import { visible } from './visible-text.js';

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
export class LossView {
  private readonly inForce = new KeyedList<SnapshotLive>(byId('loss-in-force'), keyOf, row);
  private readonly stored = new KeyedList<SnapshotLive>(byId('loss-stored'), keyOf, row);

  constructor() {
    byId('loss-actions').append(
      button(DECISIONS.restore.label, () => decide('restore'), { class: 'primary' }),
      button(DECISIONS.accept.label, () => decide('accept')),
    );
  }

  update({ loss, readOnly }: Snapshot): void {
    byId('loss').hidden = loss === null;
    if (!loss) return;
    setText(byId('loss-text'), visible(`${date(loss.at)}: ${loss.reason}. The last rules stay in force.`));
    this.inForce.update(loss.inForce);
    this.stored.update(loss.stored);
    byId('loss-actions').hidden = readOnly;
  }
}

function decide(how: keyof typeof DECISIONS): void {
  const { label, text, done } = DECISIONS[how];
  const reason = element('input', { id: 'loss-reason', maxlength: '1024', autocomplete: 'off' });
  confirmed({
    title: `${label}?`,
    text: element('p', {}, text),
    fields: [element('label', { class: 'field', for: 'loss-reason' }, 'Reason'), reason],
    action: label,
    run: async () => {
      await post(`rules/${how}`, reason.value ? { reason: reason.value } : {});
      report(done);
    },
  });
}

function keyOf({ rule, subject, fields }: SnapshotLive): string {
  return JSON.stringify([rule, subject, fields]);
}

function row({ rule, subject, fields }: SnapshotLive): Row<SnapshotLive> {
  const name = subject === undefined ? rule : `${rule}, ${subject}`;
  const value = typeof fields === 'string' ? fields : JSON.stringify(fields);
  const node = element('li', {}, element('bdi', {}, visible(name)), ' ', element('code', {}, visible(value)));
  return { node, update: () => undefined };
}
