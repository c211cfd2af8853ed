import type { SnapshotRule, Snapshot } from '../snapshot.js';
import { byId, setAttribute, setText } from './element.js';
import { KeyedList } from './keyed-list.js';
import { RuleRow, type ShownRule } from './rule-row.js';

type Order = 'rule' | 'allowed' | 'denied' | 'would';

/** The table of rules, which the reader sorts and filters. */
export class RulesTable {
  private readonly table = document.querySelector<HTMLTableElement>('#rules')!;
  private readonly filter = document.querySelector<HTMLInputElement>('#filter')!;
  private readonly list: KeyedList<ShownRule>;
  private order: Order = 'rule';
  private snapshot: Snapshot | undefined;

  constructor() {
    const create = (shown: ShownRule) => new RuleRow(shown);
    this.list = new KeyedList(this.table, ({ rule }) => rule.rule, create, this.table.tHead);
    this.filter.addEventListener('input', () => this.show(true));
    for (const sort of this.table.querySelectorAll<HTMLElement>('[data-sort]')) {
      sort.addEventListener('click', () => this.sortBy(sort.dataset['sort'] as Order));
    }
  }

  update(snapshot: Snapshot): void {
    this.snapshot = snapshot;
    this.show();
    const { live, readOnly } = snapshot;
    const note = readOnly
      ? 'Read only.'
      : live
        ? ''
        : 'Limits can be edited here when the module has liveRules.';
    setText(byId('rules-note'), note);
  }

  private sortBy(order: Order): void {
    this.order = order;
    for (const sort of this.table.querySelectorAll<HTMLElement>('[data-sort]')) {
      const isOrder = sort.dataset['sort'] === order;
      const direction = order === 'rule' ? 'ascending' : 'descending';
      setAttribute(sort.closest('th')!, 'aria-sort', isOrder ? direction : 'none');
    }
    this.show(true);
  }

  /** @param mayMove whether rules may move although the reader points at the table */
  private show(mayMove?: true): void {
    const { snapshot } = this;
    if (!snapshot) return;
    const wanted = this.filter.value.trim().toLowerCase();
    const shown = snapshot.rules
      .filter(({ rule, routes }) => [rule, ...routes].some((text) => text.toLowerCase().includes(wanted)))
      .sort((one, other) => compare(this.order, one, other));
    this.list.update(
      shown.map((rule) => ({ rule, snapshot })),
      mayMove,
    );
    byId('no-rules').hidden = shown.length > 0;
  }
}

function compare(order: Order, one: SnapshotRule, other: SnapshotRule): number {
  const byName = one.rule < other.rule ? -1 : 1;
  if (order === 'rule') return byName;
  const figure = (rule: SnapshotRule) => (order === 'would' ? rule.wouldDeny + rule.trialDeny : rule[order]);
  return figure(other) - figure(one) || byName;
}
