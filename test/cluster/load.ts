import { setTimeout as sleep } from 'node:timers/promises';
import type { Decision, DecisionSource } from '../../lib/index.js';

/** A few callers, each of whom asks again as soon as it is answered, and their answers by who gave them. */
export class Load {
  readonly admitted = new Map<DecisionSource, number>();
  readonly denied = new Map<DecisionSource, number>();
  private isOver = false;
  private readonly callers: Promise<void>[];

  /** @param asks what each of the callers asks */
  constructor(asks: readonly (() => Promise<Decision>)[]) {
    this.callers = asks.map(async (ask) => {
      while (!this.isOver) {
        this.count(await ask());
        await sleep(1); // an answer by the fallback comes at once
      }
    });
  }

  /** @returns how many were admitted by whoever it was */
  admittedBy(source: DecisionSource): number {
    return this.admitted.get(source) ?? 0;
  }

  /** @returns how many answers there were by whoever it was */
  answersOf(source: DecisionSource): number {
    return this.admittedBy(source) + (this.denied.get(source) ?? 0);
  }

  /** Resolves once the last is answered. */
  async stop(): Promise<void> {
    this.isOver = true;
    await Promise.all(this.callers);
  }

  private count({ allowed, source }: Decision): void {
    const counts = allowed ? this.admitted : this.denied;
    counts.set(source, (counts.get(source) ?? 0) + 1);
  }
}
