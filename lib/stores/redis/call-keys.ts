/** KEYS of a call, each once, whoever means it. */
export class CallKeys {
  readonly all: string[] = [];
  /** Where each is, from 1, once there are several. */
  private placeOf: Map<string, number> | undefined;
  private meantInTurn: number[] | undefined;

  /** How many keys were added, those counted again that were there already. */
  get meant(): number {
    return this.meantInTurn?.length ?? this.all.length;
  }

  /** Which of all is meant by the first that was added, the second, …, from 1; absent if it is that one. */
  get places(): readonly number[] | undefined {
    return this.meantInTurn;
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
      this.meantInTurn ??= all.map((_, index) => index + 1);
      this.meantInTurn.push(place);
      return;
    }
    this.placeOf.set(key, all.push(key));
    this.meantInTurn?.push(all.length);
  }
}
