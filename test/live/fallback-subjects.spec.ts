import { afterEach, expect, it } from '@jest/globals';
import { MemoryRuleSource } from '../../lib/live.js';
import type { NamedRule } from '../../lib/nest/rules/route-rule.js';
import { closeApps } from '../support/nest-app.js';
import { startLiveApp } from './live-app.js';

afterEach(closeApps);

const IP = '203.0.113.7';
const BY = { by: 'ops@example.com' };

const RULES: Readonly<Record<string, NamedRule>> = {
  'a user': { window: '1h', limit: 2, by: 'user' },
  'a list': { window: '1h', limit: 2, by: ['user', 'ip'] },
  'a header': { window: '1h', limit: 2, by: 'x-tenant' },
  'an address in a header': { window: '1h', limit: 2, by: { ip: 'x-client' } },
  'a function without a result': { window: '1h', limit: 2, by: () => undefined },
  'a function with an invalid result': { window: '1h', limit: 2, by: () => ({}) as string },
  'a user, with conditions': { window: '1h', limit: 2, by: 'user', skipIf: () => false },
};

it.each(Object.entries(RULES))(
  'an exception applies to requests that are counted by their IP in a rule by %s',
  async (_by, rule) => {
    const { rules, send } = await startLiveApp(new MemoryRuleSource(), {
      rules: { default: rule },
      warnings: { RL_TRUST_PROXY_ALL: false, RL_INVALID_VALUE: false },
    });
    const statuses = async (count: number, ip = IP) => {
      const all: number[] = [];
      while (all.length < count)
        all.push((await send({ path: '/page', headers: { 'x-forwarded-for': ip } })).status);
      return all;
    };
    await rules.setException('default', ['', IP], 'deny', BY);
    expect(await statuses(1)).toEqual([429]);
    await rules.setException('default', ['', IP], { limit: 1 }, BY);
    expect(await statuses(2)).toEqual([200, 429]);
    await rules.setException('default', ['', IP], 'allow', BY);
    expect(await statuses(3)).toEqual([200, 200, 200]);
    await rules.unsetException('default', ['', IP], BY);
    expect(await statuses(2)).toEqual([200, 429]);
    expect(await statuses(3, '203.0.113.8')).toEqual([200, 200, 429]);
  },
);
