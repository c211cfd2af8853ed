import type { Store } from '../contracts/store.js';

const BEAT_EVERY_MS = 5000;
const ALIVE_FOR = 15e6;

/** Knows how many processes share the limits: by a sign of life in the store, remembered while it is gone. */
export class Instances {
  private known = 1;
  private timer: NodeJS.Timeout | undefined;

  /**
   * @param key where all processes leave their signs of life
   * @param instance this process
   */
  constructor(
    private readonly store: Store,
    private readonly key: string,
    private readonly instance: string,
  ) {}

  /** How many there were when the store was last asked, this one included. */
  get count(): number {
    return this.known;
  }

  /** Begins to count, once however often it is called. */
  start(): void {
    if (this.timer || !this.store.heartbeat) return;
    this.timer = setInterval(() => void this.beat(ALIVE_FOR), BEAT_EVERY_MS).unref();
    void this.beat(ALIVE_FOR);
  }

  /** Takes the sign of life back. */
  async stop(): Promise<void> {
    if (!this.timer) return;
    clearInterval(this.timer);
    this.timer = undefined;
    await this.beat(0);
  }

  private async beat(duration: number): Promise<void> {
    try {
      const { key, instance } = this;
      this.known = Math.max(1, await this.store.heartbeat!({ key, instance, duration }));
    } catch {
      // The store is gone: what was known goes on.
    }
  }
}
