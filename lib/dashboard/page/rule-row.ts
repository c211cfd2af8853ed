import type { SnapshotRule, Snapshot } from '../snapshot.js';
import { element, setAttribute, setText } from './element.js';
import { rate } from './figures.js';
import { RuleDetails } from './rule-details.js';
import { Sparkline } from './sparkline.js';
import { visible } from './visible-text.js';

/** A rule with what the snapshot says about all of them. */
export interface ShownRule {
  readonly rule: SnapshotRule;
  readonly snapshot: Snapshot;
}

const COLUMNS = 5;
let rows = 0;

/** A rule of the table: a row of figures, and a row of details while it is expanded. */
export class RuleRow {
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
