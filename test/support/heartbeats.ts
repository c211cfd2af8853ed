import type { Heartbeat } from '../../lib/store.js';

/** heartbeat.lua in TypeScript: counts the processes whose heartbeat has not expired. */
export class Heartbeats {
  private readonly until = new Map<string, number>();

  /**
   * @param now microseconds
   * @returns the number of live processes
   */
  beat({ instance, duration }: Pick<Heartbeat, 'instance' | 'duration'>, now: number): number {
    if (duration > 0) this.until.set(instance, now + duration);
    else this.until.delete(instance);
    for (const [each, until] of this.until) if (until <= now) this.until.delete(each);
    return this.until.size;
  }
}
