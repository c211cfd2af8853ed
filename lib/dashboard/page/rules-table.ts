import type { SnapshotRule, Snapshot } from '../snapshot.js';
import { element, setAttribute, setText, byId } from './element.js';
import { rate } from './figures.js';
import { RuleDetails } from './rule-details.js';
import { Sparkline } from './sparkline.js';
import { visible } from './visible-text.js';
import { KeyedList } from './keyed-list.js';

/** A rule with what the snapshot says about all of them. */
interface ShownRule {
  readonly rule: SnapshotRule;
  readonly snapshot: Snapshot;
}

const COLUMNS = 5;

let rows = 0;

/** A rule of the table: a row of figures, and a row of details while it is expanded. */
class RuleRow {
  readonly node = element('tbody');
  private readonly id = `rule-${rows++}`;
  private readonly summary = element('span', { class: 'summary' });
  private readonly tags = element('span', { class: 'tags' });
  private readonly toggle = element('button', {
    type: 'button',
    class: 'toggle',
    'aria-expanded': 'false',
    'aria-controls': this.id,
  });
  private readonly allowed = element('td', { class: 'figure' });
  private readonly denied = element('td', { class: 'figure denied' });
  private readonly would = element('td', { class: 'figure would' });
  private readonly sparkline = new Sparkline();
  private readonly detailsRow: HTMLTableRowElement;
  private details: RuleDetails | undefined;
  private shown: ShownRule;

  constructor(shown: ShownRule) {
    this.shown = shown;
    this.toggle.append(element('bdi', {}, visible(shown.rule.rule)));
    this.toggle.addEventListener('click', () => this.expand(this.details === undefined));
    const name = element('span', { class: 'name' }, this.toggle, this.tags);
    const head = element('th', { scope: 'row' }, element('span', { class: 'rule' }, name, this.summary));
    const trend = element('td', { class: 'trend' }, this.sparkline.node);
    this.detailsRow = element(
      'tr',
      { id: this.id, class: 'details-row', hidden: '' },
      element('td', { colspan: String(COLUMNS) }),
    );
    this.node.append(element('tr', {}, head, this.allowed, this.denied, this.would, trend), this.detailsRow);
  }

  update(shown: ShownRule): void {
    this.shown = shown;
    const { rule, snapshot } = shown;
    setText(this.summary, summaryOf(rule));
    setText(this.tags, [rule.shadow ? 'shadow' : '', rule.change ? 'live' : ''].filter(Boolean).join(' · '));
    setText(this.allowed, rate(rule.allowed));
    setText(this.denied, rate(rule.denied));
    const would = rule.wouldDeny + rule.trialDeny;
    setText(this.would, would > 0 || rule.shadow ? rate(would) : '–');
    this.denied.classList.toggle('active', rule.denied > 0);
    this.would.classList.toggle('active', would > 0);
    this.sparkline.update(snapshot.at, rule.seconds);
    this.details?.update(rule);
  }

  private expand(isExpanded: boolean): void {
    setAttribute(this.toggle, 'aria-expanded', String(isExpanded));
    this.node.classList.toggle('expanded', isExpanded);
    this.detailsRow.hidden = !isExpanded;
    this.details = isExpanded ? new RuleDetails(this.shown.rule, this.shown.snapshot) : undefined;
    this.details?.update(this.shown.rule);
    this.detailsRow.cells[0]?.replaceChildren(...(this.details ? [this.details.node] : []));
  }
}

/** The limit in one line, such as `100 per 1m, gcra`. */
function summaryOf({ fields }: SnapshotRule): string {
  const values = new Map(fields.map(({ name, value }) => [name, value]));
  const [limit = '?', window, algorithm] = ['limit', 'window', 'algorithm'].map((name) => values.get(name));
  const rest = [algorithm, values.has('by') ? `by ${values.get('by')}` : undefined].filter(
    (each) => each !== undefined,
  );
  return visible([window === undefined ? limit : `${limit} per ${window}`, ...rest].join(' · '));
}

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
