import { setTimeout as sleep } from 'node:timers/promises';
import type { Decision } from '../../lib/index.js';
import type { DecisionSource } from '../../lib/contracts/decision.js';

/** A few callers that each send a request when the previous one is decided. Counts the decisions by their source. */
export class Load {
  readonly admitted = new Map<DecisionSource, number>();
  readonly denied = new Map<DecisionSource, number>();
  private isOver = false;
  private readonly callers: Promise<void>[];

  /** @param asks sends a request of a caller */
  constructor(asks: readonly (() => Promise<Decision>)[]) {
    this.callers = asks.map(async (ask) => {
      while (!this.isOver) {
        this.count(await ask());
        await sleep(1); // The fallback decides at once.
      }
    });
  }

  /** @returns how many requests were allowed, whatever the source */
  admittedBy(source: DecisionSource): number {
    return this.admitted.get(source) ?? 0;
  }

  /** @returns how many requests were decided, by source */
  answersOf(source: DecisionSource): number {
    return this.admittedBy(source) + (this.denied.get(source) ?? 0);
  }

  /** Resolves when the last request is decided. */
  async stop(): Promise<void> {
    this.isOver = true;
    await Promise.all(this.callers);
  }

  private count({ allowed, source }: Decision): void {
    const counts = allowed ? this.admitted : this.denied;
    counts.set(source, (counts.get(source) ?? 0) + 1);
  }
}
