/** A gate at which handlers wait until the test opens it. */
export class Gate {
  /** Number of handlers that have arrived so far. */
  arrived = 0;
  /** The most handlers that have waited at the same time. */
  most = 0;
  private readonly waiting = new Set<() => void>();

  /** Number of handlers that wait now. */
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

  /** Lets the waiting handlers continue; later ones wait again. */
  open(): void {
    for (const resolve of this.waiting) resolve();
    this.waiting.clear();
  }
}
