import type { Resolved } from '../../rules/compiled-rule.js';

/** Maximum number of different values. */
const MOST = 1024;

/** What requests determined for their rule: each different value once, with a number. The number 0 stands for none. */
export class ResolvedValues {
  private readonly numbers = new Map<string, number>();
  private values: (Resolved | undefined)[] = [undefined];

  /** Returns the number of a value; `undefined` if there is no room for another one. */
  numberOf(value: Resolved | undefined): number | undefined {
    if (value === undefined) return 0;
    const text = JSON.stringify(value);
    const known = this.numbers.get(text);
    if (known !== undefined || this.values.length > MOST) return known;
    this.numbers.set(text, this.values.length);
    return this.values.push(value) - 1;
  }

  at(number: number): Resolved | undefined {
    return this.values[number];
  }

  /** The values by their numbers. */
  get all(): readonly (Resolved | undefined)[] {
    return this.values;
  }

  clear(): void {
    this.numbers.clear();
    this.values = [undefined];
  }
}
