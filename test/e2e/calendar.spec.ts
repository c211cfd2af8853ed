import { Controller, Get } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimitModule } from '../../lib/index.js';
import { limitHeaders } from '../support/http-client.js';
import { closeApps, SETUPS, startApp } from '../support/nest-app.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { virtualStore, VirtualTime } from '../support/virtual-store.js';

@Controller()
class Reports {
  @RateLimit({ name: 'day', algorithm: 'fixed-window', limit: 1, window: 'day', timeZone: 'Europe/Berlin' })
  @Get('day')
  day() {}

  @RateLimit({ name: 'month', algorithm: 'fixed-window', limit: 1, window: 'month', anchor: 15 })
  @Get('month')
  month() {}
}

/** From 22:14 on Tuesday 2023-11-14 in UTC, 23:14 in Berlin. */
const TO_MIDNIGHT_IN_BERLIN = 46 * 60_000;
const TO_MIDNIGHT_IN_UTC = 106 * 60_000;

afterEach(closeApps);

describe.each(SETUPS)('a quota of the calendar, on $framework with $kind', ({ framework, kind }) => {
  async function start() {
    const time = new VirtualTime();
    const limits = RateLimitModule.forRoot({ prefix: uniquePrefix() });
    const metadata = { imports: [limits], controllers: [Reports] };
    const { get } = await startApp(metadata, { framework, store: virtualStore(kind, time) });
    const status = async (path: string) => (await get(path)).status;
    return { time, get, status };
  }

  it("a daily limit is available again at midnight in the rule's time zone", async () => {
    const { time, get, status } = await start();
    expect(await status('/day')).toBe(200);
    const refused = await get('/day');
    expect(limitHeaders(refused)).toEqual({
      'ratelimit-policy': '"day";q=1;w=86400',
      ratelimit: '"day";r=0;t=2760',
      'retry-after': '2760',
    });
    time.advance(TO_MIDNIGHT_IN_BERLIN - 1);
    expect(await status('/day')).toBe(429);
    time.advance(1);
    expect(await status('/day')).toBe(200);
  });

  it("a monthly limit is available again on the rule's anchor day", async () => {
    const { time, status } = await start();
    expect(await status('/month')).toBe(200);
    time.advance(TO_MIDNIGHT_IN_UTC - 1);
    expect(await status('/month')).toBe(429);
    time.advance(1);
    expect(await status('/month')).toBe(200);
    expect(await status('/month')).toBe(429);
  });
});
