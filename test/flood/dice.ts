/** Pseudo-random numbers that are the same in every run (mulberry32). */
export class Dice {
  constructor(private state: number) {}

  /** Returns an integer from 0 to below a bound. */
  below(bound: number): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), this.state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * bound);
  }

  oneOf<Each>(choices: ArrayLike<Each>): Each {
    return choices[this.below(choices.length)]!;
  }

  /** Returns a list of consecutive numbers, starting at 0. */
  text(most: number, piece: () => string): string {
    return Array.from({ length: this.below(most + 1) }, piece).join('');
  }
}
