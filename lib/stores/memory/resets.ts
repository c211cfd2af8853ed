import type { Entries } from './entries.js';

/** A counter's last reset, and the instant of the first charge after it; in microseconds since the epoch. */
interface Reset {
  readonly at: number;
  readonly chargesFrom: number;
}

/** The last reset of each counter, stored as long as earlier charges could be refunded. */
export class Resets {
  /** The instant of the last reset of any counter, in microseconds since the epoch. */
  lastAt = 0;

  constructor(private readonly entries: Entries) {}

  /**
   * Stores the reset at `lastAt` for a counter: 1 microsecond later than each charge before it, so that it differs from
   * charges at the same instant.
   *
   * @param expiresAt when the state of the counter would have expired
   */
  add(key: string, expiresAt: number): void {
    const { lastAt: at } = this;
    const reset = resetKey(key);
    const last = this.entries.get(reset) as Reset | undefined;
    const chargesFrom = (last?.at === at ? last.chargesFrom : at) + 1;
    const keptUntil = Math.max(expiresAt, this.entries.delete(reset) ?? 0);
    this.entries.set(reset, { at, chargesFrom } satisfies Reset, keptUntil, 1);
  }

  /** Returns the instant of the first charge after a counter's last reset; 0 if no earlier charge can be refunded. */
  chargesFrom(key: string): number {
    return (this.entries.get(resetKey(key)) as Reset | undefined)?.chargesFrom ?? 0;
  }
}

function resetKey(key: string): string {
  return `${key}:reset`;
}
