import type { AnyRule } from '../../lib/rules/rule.js';

type Costs = Readonly<Record<string, number>>;

/** A move of a timeline of reservations. */
export type Entry =
  | { does: 'reserve' | 'consume'; cost: Costs }
  | { does: 'used' | 'settle'; nth: number; cost: Costs }
  | { does: 'cancel' | 'end'; nth: number }
  | { does: 'wait'; ms: number };

/** What a reservation has charged to one rule. */
interface Line {
  readonly reserved: number;
  used: number;
  /** Charged beyond the reservation. */
  charged: number;
}

/** What a reservation has charged. */
interface Page {
  readonly lines: Map<string, Line>;
  nextAt: number;
}

/** A list of all charges: what the rules have left while none of them expires. */
export class Ledger {
  private readonly taken = new Map<string, number>();
  private readonly open: Page[] = [];

  constructor(
    private readonly rules: readonly AnyRule[],
    private readonly now: () => number,
  ) {}

  left(): number[] {
    return this.rules.map(({ name, limit }) => Math.max(0, limit - (this.taken.get(name!) ?? 0)));
  }

  /** @param isAllowed whether a charge was allowed */
  play(move: Entry, isAllowed: boolean): void {
    if (move.does === 'wait') return;
    if (!('nth' in move)) {
      if (isAllowed) this.charge(move.cost, move.does === 'reserve');
      return;
    }
    const nth = move.nth % Math.max(1, this.open.length);
    const page = this.open[nth];
    if (!page) return;
    if (move.does === 'used') {
      this.report(page, move.cost);
      return;
    }
    this.open.splice(nth, 1);
    for (const [name, line] of page.lines) {
      const named = move.does === 'settle' ? move.cost[name] : undefined;
      const actual = move.does === 'cancel' ? 0 : (named ?? Math.max(line.reserved, line.used));
      this.add(name, Math.max(actual, line.charged) - line.reserved - line.charged);
    }
    this.add('streams', -1);
  }

  private charge(cost: Costs, isReserved: boolean): void {
    const lines = this.rules.flatMap(({ name }) => (name === 'streams' ? [] : [name!]));
    const page = { lines: new Map<string, Line>(), nextAt: -Infinity };
    for (const name of lines) {
      const reserved = cost[name] ?? 1;
      page.lines.set(name, { reserved, used: 0, charged: 0 });
      this.add(name, reserved);
    }
    if (!isReserved) return;
    this.open.push(page);
    this.add('streams', 1);
  }

  /** Usage beyond a reservation is charged when a tenth of it is not reported, once a second. */
  private report(page: Page, cost: Costs): void {
    const lines = [...page.lines];
    for (const [name, line] of lines) line.used = Math.max(line.used, cost[name] ?? 0);
    const unreported = ({ reserved, used, charged }: Line) => used - reserved - charged;
    const isDue = lines.some(([, line]) => unreported(line) >= Math.max(1, line.reserved / 10));
    if (!isDue || this.now() < page.nextAt) return;
    page.nextAt = this.now() + 1000;
    for (const [name, line] of lines) {
      const further = Math.max(0, unreported(line));
      line.charged += further;
      this.add(name, further);
    }
  }

  private add(name: string, permits: number): void {
    this.taken.set(name, (this.taken.get(name) ?? 0) + permits);
  }
}
