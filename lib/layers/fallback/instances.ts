import type { Heartbeat, SharedStore } from '../../contracts/base-store.js';
import { after, every, type Timer } from '../../contracts/timer.js';

const BEAT_EVERY_MS = 5000;
const SECOND_BEAT_MS = 1000;
const ALIVE_FOR = 15e6;
/**
 * Number of the last counts whose maximum is used, one per heartbeat in `ALIVE_FOR`: a store that restarted without data
 * counts too few processes at first.
 */
const RECENT = 3;

/**
 * Counts the processes that share the limits, by their heartbeats in the store. While the store is unavailable, the
 * last count remains in use.
 */
export class Instances {
  /** Number of processes, including this one: the last count of the store, at least the configured minimum. */
  count: number;
  /** The error of the last heartbeat; `undefined` if it succeeded. */
  error: unknown;
  private readonly recent: number[] = [];
  private readonly timers: Timer[] = [];

  /**
   * @param key the key of all heartbeats
   * @param process the name of this process, and of its application
   * @param least the minimum number of processes, from 1
   * @param failed called with the error of each failed heartbeat
   */
  constructor(
    private readonly store: SharedStore,
    private readonly key: string,
    private readonly process: Pick<Heartbeat, 'instance' | 'application'>,
    private readonly least: number,
    private readonly failed: (error: unknown) => void,
  ) {
    this.count = least;
  }

  /** Starts the timers of the heartbeats. The first interval is short, since processes often start together. */
  start(): void {
    if (this.timers.length > 0) return;
    // The timers must not keep a limiter alive that is dropped without being closed.
    const { timers } = this;
    const self = new WeakRef(this);
    const beat = (): void => {
      const instances = self.deref();
      if (instances) void instances.beat();
      else halt(timers);
    };
    timers.push(after(SECOND_BEAT_MS, beat), every(BEAT_EVERY_MS, beat));
  }

  /** Sends a heartbeat. */
  async beat(): Promise<void> {
    if (this.timers.length === 0) return;
    try {
      const alive = await this.send(ALIVE_FOR);
      if (alive > 0) this.recent.push(alive);
      else halt(this.timers); // The store is closed.
      if (this.recent.length > RECENT) this.recent.shift();
      this.count = Math.max(this.least, ...this.recent);
      this.error = undefined;
    } catch (error) {
      this.error = error;
      this.failed(error); // The last count remains in use.
    }
  }

  /** Deletes the heartbeat, so that the other processes do not count this one until it expires. */
  async stop(): Promise<void> {
    halt(this.timers);
    if (this.recent.length > 0) await this.send(0).catch(() => undefined);
  }

  private async send(duration: number): Promise<number> {
    return this.store.heartbeat({ ...this.process, key: this.key, duration });
  }
}

function halt(timers: Timer[]): void {
  for (const timer of timers.splice(0)) timer.stop();
}
