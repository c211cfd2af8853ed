import { Injectable } from '@nestjs/common';

/** Somebody else's API, which allows five calls a second and remembers when they came. */
@Injectable()
export class Geocoder {
  private readonly calls: number[] = [];

  async locate(address: string): Promise<{ address: string }> {
    this.calls.push(Date.now());
    return { address };
  }

  /** How many of the last `count` calls came in each second of the clock. */
  callsEachSecond(count: number): number[] {
    const seconds = this.calls.slice(-count).map((at) => Math.floor(at / 1000));
    return [...new Set(seconds)].map((second) => seconds.filter((each) => each === second).length);
  }
}
