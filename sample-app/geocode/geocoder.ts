import { Injectable } from '@nestjs/common';

/** Stands in for the API of another company, which allows five calls a second. It records the time of each call. */
@Injectable()
export class Geocoder {
  private readonly calls: number[] = [];

  async locate(address: string): Promise<{ address: string }> {
    this.calls.push(Date.now());
    return { address };
  }

  /** Counts the last `count` calls by second of the clock. */
  callsEachSecond(count: number): number[] {
    const seconds = this.calls.slice(-count).map((at) => Math.floor(at / 1000));
    return [...new Set(seconds)].map((second) => seconds.filter((each) => each === second).length);
  }
}
