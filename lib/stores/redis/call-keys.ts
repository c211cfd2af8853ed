/** The KEYS of a call, without duplicates. */
export class CallKeys {
  readonly all: string[] = [];
  /** The position of each key, from 1; only if there are several keys. */
  private positionOf: Map<string, number> | undefined;
  private positionsInTurn: number[] | undefined;

  /** Number of keys added, including duplicates. */
  get meant(): number {
    return this.positionsInTurn?.length ?? this.all.length;
  }

  /** The position in `all` of each key added, from 1; absent without duplicates. */
  get positions(): readonly number[] | undefined {
    return this.positionsInTurn;
  }

  add(key: string): void {
    const { all } = this;
    if (all.length === 0) {
      all.push(key);
      return;
    }
    this.positionOf ??= new Map([[all[0]!, 1]]);
    const position = this.positionOf.get(key);
    if (position !== undefined) {
      this.positionsInTurn ??= all.map((_, index) => index + 1);
      this.positionsInTurn.push(position);
      return;
    }
    this.positionOf.set(key, all.push(key));
    this.positionsInTurn?.push(all.length);
  }
}
