import type { Verdict } from '../contracts/algorithm.js';
import type { Amendment, Ask, Hit, Outcome, Store } from '../contracts/store.js';

/** What was answered for one hit, and where it was charged. */
export interface Answer {
  readonly hit: Hit;
  readonly verdict: Verdict;
  /** When it was decided, in microseconds since the epoch. */
  readonly now: number;
  /** Who answered; absent if it was the policy. */
  readonly store?: Store | undefined;
  /** Whether the hit was charged, if it was allowed. */
  readonly isCharged: boolean;
  /** How many times its cost was charged, where each process has a part of the limit. */
  readonly share?: number | undefined;
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
  readonly share: number;
}

/** What a decision has charged, until it is taken to be given back, settled or held. */
export class Charge {
  private readonly open: Set<number>;

  constructor(private readonly answers: readonly Answer[]) {
    const indexes = answers.map((_, index) => index);
    // An observed rule that denied was not charged.
    this.open = new Set(
      indexes.filter((index) => {
        const { hit, verdict, isCharged } = answers[index]!;
        return isCharged && verdict.allowed && hit.cost > 0;
      }),
    );
  }

  /** Takes the hits that are meant out of the charge, each once, as amendments of a kind. */
  take(kind: Amendment['kind'], isMeant: (hit: Hit, index: number) => boolean = () => true): Charged[] {
    const taken = [...this.open].filter((index) => isMeant(this.answers[index]!.hit, index));
    return taken.map((index) => {
      this.open.delete(index);
      const { hit, verdict, now, store, share = 1 } = this.answers[index]!;
      return { ...hit, kind, receipt: hit.lease ?? now + verdict.resetAfter, store: store!, share };
    });
  }
}
