import { Controller, Get } from '@nestjs/common';
import { RateLimitService, type Rule } from 'nestjs-redis-rate-limit';
import { Geocoder } from './geocoder.js';

/** The limit of the geocoder, shared by all processes that call it. */
const GEOCODER = {
  name: 'geocoder',
  algorithm: 'leaky-bucket',
  window: '1s',
  limit: 5,
} satisfies Rule;

const ADDRESSES = Array.from({ length: 8 }, (_, index) => `${index + 1} Baker Street`);

@Controller('geocode')
export class GeocodeController {
  constructor(
    private readonly limits: RateLimitService,
    private readonly geocoder: Geocoder,
  ) {}

  /** Locates eight addresses at once: each call waits for its turn, so the geocoder denies none. */
  @Get()
  async geocode() {
    await Promise.all(
      ADDRESSES.map(async (address) => {
        const { allowed } = await this.limits.acquire(GEOCODER, 'everyone', { maxWait: '10s' });
        if (allowed) await this.geocoder.locate(address);
      }),
    );
    return { addresses: ADDRESSES.length, callsEachSecond: this.geocoder.callsEachSecond(ADDRESSES.length) };
  }
}
