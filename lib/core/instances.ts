import type { Store } from '../contracts/store.js';

const BEAT_EVERY_MS = 5000;
const SECOND_BEAT_MS = 1000;
const ALIVE_FOR = 15e6;
/** As many beats as go into `ALIVE_FOR`: one low count, of a store that came back empty, is not believed. */
const RECENT = 3;

/**
 * Counts the processes that share the limits, by their heartbeats in the store. The count is remembered while
 * the store is away.
 */
export class Instances {
  private readonly recent: number[] = [];
  private known: number;
  private readonly timers: NodeJS.Timeout[] = [];

  /**
   * @param key where all processes leave their heartbeats
   * @param instance this process
   * @param least the lowest number to assume, from 1
   * @param failed is called when the store could not count
   */
  constructor(
    private readonly store: Store,
    private readonly key: string,
    private readonly instance: string,
    private readonly least: number,
    private readonly failed: (error: unknown) => void,
  ) {
    this.known = least;
  }

  /** How many there are, this one included, as far as the store has said; at least what was stated. */
  get count(): number {
    return this.known;
  }

  /** Sends the first heartbeat, and goes on; the second follows soon, since processes often start together. */
  start(): void {
    if (this.timers.length > 0 || !this.store.heartbeat) return;
    // A limiter that is dropped without being closed is not kept alive by its heartbeats.
    const { timers } = this;
    const self = new WeakRef(this);
    const beat = (): void => {
      const instances = self.deref();
      if (instances) void instances.beat();
      else halt(timers);
    };
    timers.push(setTimeout(beat, SECOND_BEAT_MS).unref(), setInterval(beat, BEAT_EVERY_MS).unref());
    void this.beat();
  }

  /** Takes the heartbeat back, so that the others need not wait until it has expired. */
  async stop(): Promise<void> {
    halt(this.timers);
    if (this.recent.length > 0) await this.send(0).catch(() => undefined);
  }

  private async beat(): Promise<void> {
    try {
      const alive = await this.send(ALIVE_FOR);
      if (alive > 0) this.recent.push(alive);
      else halt(this.timers); // The store is closed.
      if (this.recent.length > RECENT) this.recent.shift();
      this.known = Math.max(this.least, ...this.recent);
    } catch (error) {
      this.failed(error); // What was known goes on.
    }
  }

  private async send(duration: number): Promise<number> {
    const { key, instance } = this;
    return this.store.heartbeat!({ key, instance, duration });
  }
}

function halt(timers: NodeJS.Timeout[]): void {
  for (const timer of timers.splice(0)) clearTimeout(timer);
}
