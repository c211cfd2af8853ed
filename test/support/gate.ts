/** A gate at which handlers wait until the test opens it. */
export class Gate {
  /** How many have come, waiting or not. */
  arrived = 0;
  /** The most that have waited at one time. */
  most = 0;
  private readonly waiting = new Set<() => void>();

  /** How many wait now. */
  get inside(): number {
    return this.waiting.size;
  }

  pass(): Promise<void> {
    this.arrived += 1;
    return new Promise((resolve) => {
      this.waiting.add(resolve);
      this.most = Math.max(this.most, this.inside);
    });
  }

  /** Lets go on who waits now; who comes later waits again. */
  open(): void {
    for (const resolve of this.waiting) resolve();
    this.waiting.clear();
  }
}
