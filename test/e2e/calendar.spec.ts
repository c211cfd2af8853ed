import { Controller, Get } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimitModule, RateLimitService } from '../../lib/index.js';
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

  @RateLimit({
    name: 'chosen',
    algorithm: 'fixed-window',
    limit: 1,
    window: () => 'day',
    timeZone: 'Europe/Berlin',
  })
  @Get('chosen')
  chosen() {}
}

/** From 22:14 on Tuesday 2023-11-14 in UTC, 23:14 in Berlin. */
const TO_MIDNIGHT_IN_BERLIN = 46 * 60_000;
const TO_MIDNIGHT_IN_UTC = 106 * 60_000;

afterEach(closeApps);

describe.each(SETUPS)('a quota of the calendar, on $framework with $kind', ({ framework, kind }) => {
  async function start() {
    const time = new VirtualTime();
    const imports = [RateLimitModule.forRoot({ prefix: uniquePrefix() })];
    const metadata = { imports, controllers: [Reports] };
    const { app, get } = await startApp(metadata, { framework, store: virtualStore(kind, time) });
    const status = async (path: string) => (await get(path)).status;
    return { time, get, status, limits: app.get(RateLimitService) };
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
    expect([await status('/day'), await status('/chosen')]).toEqual([429, 200]);
    time.advance(1);
    expect([await status('/day'), await status('/chosen')]).toEqual([200, 200]);
  });

  it('a recipient gets two mails a day, and the next at midnight in their own time zone', async () => {
    const { time, limits } = await start();
    const perDay = (timeZone: string) =>
      ({ name: `mail ${timeZone}`, window: 'day', limit: 2, algorithm: 'fixed-window', timeZone }) as const;
    const zones = ['Asia/Tokyo', 'Europe/Berlin', 'America/New_York'];
    const mail = async (zone: string) => {
      const { allowed, retryAfterMs } = await limits.consume(perDay(zone), `ann@${zone}`);
      return allowed || retryAfterMs! / 60_000;
    };
    const mails = async () => [await mail(zones[0]!), await mail(zones[1]!), await mail(zones[2]!)];
    expect(await mails()).toEqual([true, true, true]);
    expect(await mails()).toEqual([true, true, true]);
    expect(await mails()).toEqual([16 * 60 + 46, 46, 6 * 60 + 46]);
    time.advance(TO_MIDNIGHT_IN_BERLIN);
    expect(await mails()).toEqual([16 * 60, true, 6 * 60]);
    time.advance(6 * 3_600_000);
    expect(await mails()).toEqual([10 * 60, true, true]);
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
