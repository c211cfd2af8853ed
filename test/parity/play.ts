import type { Amendment, Counter, Hit, Store, Verdict } from '../../lib/index.js';
import type { Deed, Gap, Patience } from './random-timeline.js';
import { compileSketch, toRule, type RuleSketch } from './rule-sketch.js';

/** The answers of a store, one a hit or an amendment. */
type Act = (store: Store) => Promise<readonly unknown[]>;

/** Debt beyond it would leave the integers that a double holds exactly. */
const MOST_OWED = 20;

/** Rules that are asked together, and what has been charged of them: a timeline as it is played. */
export class Play {
  private readonly sketches: RuleSketch[];
  private compiled;
  private readonly charges: Omit<Amendment, 'kind'>[] = [];
  private verdicts: readonly Verdict[] = [];
  private pending: readonly Hit[] = [];
  private leases = 0;

  constructor(
    sketches: readonly RuleSketch[],
    private readonly prefix: string,
  ) {
    this.sketches = sketches.map((sketch) => ({ ...sketch }));
    this.compiled = this.sketches.map(compileSketch);
  }

  /** Every key that may have been written. */
  get keys(): string[] {
    return this.sketches.flatMap((_, index) => [
      `${this.prefix}{ann}:${index}`,
      `${this.prefix}{ann}:${index}:block`,
    ]);
  }

  /** Every counter, with its block whether its rule has one or not. */
  get everything(): Counter[] {
    const block = (key: string) => ({ key: `${key}:block`, duration: 0 });
    return this.sketches
      .map((_, index) => this.counter(index))
      .map((each) => ({ ...each, block: block(each.key) }));
  }

  rules(): string[] {
    return ['rules:', ...this.sketches.map((sketch) => `  ${JSON.stringify(toRule(sketch))}`)];
  }

  microsecondsUntil(gap: Gap): number {
    switch (gap.after) {
      case 'microseconds':
        return gap.microseconds;
      case 'twelfths':
        return Math.floor((this.window * gap.twelfths) / 12) + gap.nudge;
      case 'retry':
        return Math.max(0, ...this.verdicts.map(({ retryAfter }) => retryAfter ?? 0)) + gap.nudge;
      case 'reset':
        return Math.max(0, ...this.verdicts.map(({ resetAfter }) => resetAfter)) + gap.nudge;
    }
  }

  /** What a step asks of any store. */
  prepare(deed: Deed): Act {
    this.pending = [];
    switch (deed.does) {
      case 'consume':
        this.pending = this.hits(deed.cost, deed.patience);
        return this.decide(this.pending, { patience: this.patience(deed.patience) });
      case 'peek':
        return this.decide(this.hits(deed.cost, 'none'), { dryRun: true });
      case 'block':
        return this.block(deed.index, deed.twelfths);
      case 'reset':
        return this.done((store) => store.reset(this.everything));
      case 'change':
        return this.change(deed);
      default:
        return this.amend(deed.does, deed.charge, deed.permits);
    }
  }

  /** Remembers what an answer has charged, and when it said to come back. */
  note(answers: readonly unknown[]): void {
    if (this.pending.length === 0) return;
    const outcome = answers as (Verdict & { now: number })[];
    this.verdicts = outcome;
    const isDenied = outcome.some(({ allowed }, index) => !allowed && !this.pending[index]!.observe);
    for (const [index, hit] of this.pending.entries()) {
      const { allowed, now, resetAfter } = outcome[index]!;
      const receipt = hit.lease ?? now + resetAfter;
      if (!isDenied && allowed && hit.cost > 0) this.charges.unshift({ ...hit, receipt });
    }
  }

  private get window(): number {
    return this.sketches[0]!.window;
  }

  private counter(index: number): Counter {
    const { algorithm, parameters, block } = this.compiled[index]!;
    const key = this.keys[2 * index]!;
    const counter = { key, algorithm, parameters };
    return block === undefined ? counter : { ...counter, block: { key: `${key}:block`, duration: block } };
  }

  private hits(cost: number | undefined, patience: Patience): Hit[] {
    const most = patience === 'endless' ? MOST_OWED : Infinity;
    return this.compiled.map((rule, index) => ({
      ...this.counter(index),
      cost: Math.min(cost ?? rule.cost, most),
      observe: rule.observe,
      ...(rule.algorithm.leases && { lease: `lease-${++this.leases}` }),
    }));
  }

  private patience(patience: Patience): number {
    if (patience === 'none') return 0;
    return patience === 'endless' ? Infinity : Math.floor((this.window * patience) / 12);
  }

  private decide(hits: readonly Hit[], ask: Parameters<Store['decide']>[1]): Act {
    return async (store) => {
      const { verdicts, now } = await store.decide(hits, ask);
      return verdicts.map(({ allowed, remaining, retryAfter, resetAfter, delay }) => {
        return { now, allowed, remaining, retryAfter, resetAfter, delay };
      });
    };
  }

  private amend(kind: Amendment['kind'], charge: number, permits: number): Act {
    const charged = this.charges[charge];
    if (!charged || (kind === 'renew' && !charged.algorithm.leases)) return async () => [];
    const { parameters } = this.compiled[this.keys.indexOf(charged.key) / 2]!;
    const cost = Math.min(permits, charged.cost);
    return async (store) => store.amend([{ ...charged, kind, cost, parameters }]);
  }

  private block(index: number, twelfths: number): Act {
    const counter = this.counter(index);
    if (!counter.block) return async () => [];
    const duration = Math.max(1, Math.floor((this.window * twelfths) / 12));
    return this.done((store) => store.block(counter, duration));
  }

  private change({ index, limit, window }: Deed & { does: 'change' }): Act {
    const sketch = this.sketches[index]!;
    Object.assign(sketch, { limit, window: window ?? sketch.window });
    this.compiled = this.sketches.map(compileSketch);
    return async () => [];
  }

  private done(act: (store: Store) => Promise<void>): Act {
    return async (store) => {
      await act(store);
      return [];
    };
  }
}
