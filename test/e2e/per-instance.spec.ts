import { Controller, Get } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimitModule, RateLimitService } from '../../lib/index.js';
import type { NamedRule } from '../../lib/nest/rules/route-rule.js';
import { closeApps, FRAMEWORKS, startApp } from '../support/nest-app.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { virtualStore, VirtualTime } from '../support/virtual-store.js';

const FIXED = { window: '1m', limit: 2, algorithm: 'fixed-window', scope: 'shared' } as const;

@Controller()
class Routes {
  @Get() get() {}
}

afterEach(closeApps);

describe.each(FRAMEWORKS)('two processes on one Redis, on %s', (framework) => {
  async function startTwo(rule: NamedRule) {
    const place = { prefix: uniquePrefix(), rules: { local: rule } };
    const time = new VirtualTime();
    const start = async () => {
      const metadata = { imports: [RateLimitModule.forRoot(place)], controllers: [Routes] };
      const { app, get } = await startApp(metadata, { framework, store: virtualStore('redis', time) });
      const statuses = async () => [
        (await get('/')).status,
        (await get('/')).status,
        (await get('/')).status,
      ];
      return { service: app.get(RateLimitService), statuses };
    };
    return { one: await start(), other: await start() };
  }

  it('two processes share a limit', async () => {
    const { one, other } = await startTwo(FIXED);
    expect(await one.statuses()).toEqual([200, 200, 429]);
    expect(await other.statuses()).toEqual([429, 429, 429]);
  });

  it("two processes have separate limits with per: 'instance'", async () => {
    const { one, other } = await startTwo({ ...FIXED, per: 'instance' });
    expect(await one.statuses()).toEqual([200, 200, 429]);
    expect(await other.statuses()).toEqual([200, 200, 429]);
  });

  it("two processes have separate blocks and trial limits with per: 'instance'", async () => {
    const { one, other } = await startTwo({
      ...FIXED,
      per: 'instance',
      block: '5m',
      trial: { limit: 1 },
    });
    expect(await one.statuses()).toEqual([200, 200, 429]);
    const { decisions } = await other.service.peek('local', '127.0.0.1', { cost: 0 });
    expect(decisions).toMatchObject([
      { rule: 'local', allowed: true, remaining: 2 },
      { rule: 'local?', allowed: true, remaining: 1 },
    ]);
  });
});
