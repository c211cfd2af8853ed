import type { Verdict } from '../contracts/algorithm.js';
import type { Fallback } from '../contracts/decision.js';
import type { Amendment, Ask, Hit, Outcome, Store } from '../contracts/store.js';
import type { CompiledRule } from './compiled-rule.js';

/** What was answered for one hit, and where it was charged. */
export interface Answer {
  readonly hit: Hit;
  readonly verdict: Verdict;
  /** When it was decided, in microseconds since the epoch. */
  readonly now: number;
  /** The store that decided; absent if none did. */
  readonly store?: Store | undefined;
  /** Whether the hit was charged, if it was allowed. */
  readonly isCharged: boolean;
  /** How it was decided in the place of the store, if it was. */
  readonly fallback?: Fallback | undefined;
  /** The process's share of the rule, if that decided. */
  readonly share?: CompiledRule | undefined;
}

/** The answers in an outcome of hits that were decided together. */
export function answersOf(
  hits: readonly Hit[],
  { verdicts, now }: Outcome,
  store: Store,
  ask: Ask,
): Answer[] {
  const isDenied = hits.some(({ observe }, index) => !verdicts[index]!.allowed && !observe);
  const isCharged = !isDenied && !ask.dryRun;
  return hits.map((hit, index) => ({ hit, verdict: verdicts[index]!, now, store, isCharged }));
}

/** An amendment of what a store has charged. */
export interface Charged extends Amendment {
  readonly store: Store;
}

/** What a decision has charged, until it is taken to be given back, settled or held. */
export abstract class Charge {
  private open: Map<number, Answer> | undefined;

  /**
   * Takes the hits that are meant out of the charge, each once, as amendments of a kind. Hits without cost
   * are not meant unless given: only a settlement can still charge for them.
   */
  take(kind: Amendment['kind'], isMeant: (hit: Hit, index: number) => boolean = isPaid): Charged[] {
    this.open ??= new Map([...this.answers().entries()].filter(([, answer]) => isOpen(answer)));
    const taken = [...this.open].filter(([index, { hit }]) => isMeant(hit, index));
    return taken.map(([index, { hit, verdict, now, store }]) => {
      this.open!.delete(index);
      return { ...hit, kind, receipt: hit.lease ?? now + verdict.resetAfter, store: store! };
    });
  }

  protected abstract answers(): readonly Answer[];
}

/** Whether a hit has taken permits. */
export function isPaid({ cost }: Hit): boolean {
  return cost > 0;
}

/** An observed rule that denied was not charged. */
function isOpen({ verdict, isCharged }: Answer): boolean {
  return isCharged && verdict.allowed;
}

/** What was charged by a store that decided all hits at once: most decisions are never asked for it. */
export class ChargeOfOutcome extends Charge {
  constructor(
    private readonly hits: readonly Hit[],
    private readonly outcome: Outcome,
    private readonly store: Store,
  ) {
    super();
  }

  protected override answers(): readonly Answer[] {
    return answersOf(this.hits, this.outcome, this.store, {});
  }
}

/** What was charged by several that have answered. */
export class ChargeOfAnswers extends Charge {
  constructor(private readonly given: readonly Answer[]) {
    super();
  }

  protected override answers(): readonly Answer[] {
    return this.given;
  }
}
