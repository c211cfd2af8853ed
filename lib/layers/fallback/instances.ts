import type { SharedStore } from '../../contracts/store.js';

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
  private failure: unknown;
  private readonly timers: NodeJS.Timeout[] = [];

  /**
   * @param key where all processes leave their heartbeats
   * @param instance this process
   * @param least the lowest number to assume, from 1
   * @param failed is called when the store could not count
   */
  constructor(
    private readonly store: SharedStore | null,
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

  /** What the last heartbeat failed by; `undefined` if it succeeded. */
  get error(): unknown {
    return this.failure;
  }

  /** Sends heartbeats from now on; the one after the first comes soon, since processes often start together. */
  start(): void {
    if (this.timers.length > 0 || !this.store) return;
    // A limiter that is dropped without being closed is not kept alive by its heartbeats.
    const { timers } = this;
    const self = new WeakRef(this);
    const beat = (): void => {
      const instances = self.deref();
      if (instances) void instances.beat();
      else halt(timers);
    };
    timers.push(setTimeout(beat, SECOND_BEAT_MS).unref(), setInterval(beat, BEAT_EVERY_MS).unref());
  }

  /** Sends a heartbeat. */
  async beat(): Promise<void> {
    if (this.timers.length === 0) return;
    try {
      const alive = await this.send(ALIVE_FOR);
      if (alive > 0) this.recent.push(alive);
      else halt(this.timers); // The store is closed.
      if (this.recent.length > RECENT) this.recent.shift();
      this.known = Math.max(this.least, ...this.recent);
      this.failure = undefined;
    } catch (error) {
      this.failure = error;
      this.failed(error); // What was known goes on.
    }
  }

  /** Takes the heartbeat back, so that the others need not wait until it has expired. */
  async stop(): Promise<void> {
    halt(this.timers);
    if (this.recent.length > 0) await this.send(0).catch(() => undefined);
  }

  private async send(duration: number): Promise<number> {
    const { key, instance } = this;
    return this.store!.heartbeat({ key, instance, duration });
  }
}

function halt(timers: NodeJS.Timeout[]): void {
  for (const timer of timers.splice(0)) clearTimeout(timer);
}
