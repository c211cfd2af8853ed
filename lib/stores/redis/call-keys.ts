/** The KEYS of a call, without duplicates. */
export class CallKeys {
  readonly all: string[] = [];
  /** The position of each key, from 1; only if there are several keys. */
  private placeOf: Map<string, number> | undefined;
  private positionsInTurn: number[] | undefined;

  /** Number of keys added, including duplicates. */
  get meant(): number {
    return this.positionsInTurn?.length ?? this.all.length;
  }

  /** The position in `all` of each key added, from 1; absent without duplicates. */
  get places(): readonly number[] | undefined {
    return this.positionsInTurn;
  }

  add(key: string): void {
    const { all } = this;
    if (all.length === 0) {
      all.push(key);
      return;
    }
    this.placeOf ??= new Map([[all[0]!, 1]]);
    const place = this.placeOf.get(key);
    if (place !== undefined) {
      this.positionsInTurn ??= all.map((_, index) => index + 1);
      this.positionsInTurn.push(place);
      return;
    }
    this.placeOf.set(key, all.push(key));
    this.positionsInTurn?.push(all.length);
  }
}
