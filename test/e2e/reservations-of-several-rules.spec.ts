import { Controller, Post } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimitModule, RateLimitService, Warnings } from '../../lib/index.js';
import { MemoryRuleSource } from '../../lib/live.js';
import { closeApps, startApp } from '../support/nest-app.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { STORES, virtualStore, VirtualTime } from '../support/virtual-store.js';

const IP = '203.0.113.7';

const onDemand = {
  tokens: { window: '1m', limit: 10_000, algorithm: 'gcra' },
  requests: { window: '1m', limit: 60, algorithm: 'token-bucket' },
  mails: { window: '1m', limit: 5, block: 'manual' },
} as const;

@Controller()
class Llm {
  @RateLimit('tokens')
  @RateLimit('requests')
  @Post('chat')
  chat() {}
}

const CODE = '(RL_SETTLED_IN_PART, see docs/warnings.md)';

afterEach(closeApps);

describe.each(STORES)('a reservation of several rules of an application, with %s', (kind) => {
  async function start() {
    const metadata = {
      imports: [
        RateLimitModule.forRoot({ onDemand, prefix: uniquePrefix(), liveRules: new MemoryRuleSource() }),
      ],
      controllers: [Llm],
    };
    const store = virtualStore(kind, new VirtualTime());
    const { app, logs } = await startApp(metadata, { framework: 'express', store });
    const limits = app.get(RateLimitService);
    const left = async (rules: Parameters<typeof limits.peek>[0], subject: string) =>
      (await limits.peek(rules, subject, { cost: 0 })).decisions.map(({ remaining }) => remaining);
    return { logs, limits, left, warnings: app.get(Warnings) };
  }

  it('settles the tokens of a user, and takes one request, whatever the call cost', async () => {
    const { limits, left } = await start();
    const byName = await limits.reserve(['tokens', 'requests'], IP, { cost: { tokens: 2_000 } });
    await byName.settle({ tokens: 1_500 });
    expect(await left(['tokens', 'requests'], IP)).toEqual([8_500, 59]);
    const bySettles = await limits.reserve(['tokens', 'requests'], IP, { settles: 'tokens', cost: 2_000 });
    await bySettles.settle(1_000);
    expect(await left(['tokens', 'requests'], IP)).toEqual([7_500, 58]);
  });

  it('of a route names one of its rules, or is refused before the work', async () => {
    const { limits, left } = await start();
    const route = { route: [Llm, 'chat'] } as const;
    await expect(limits.reserve(route, IP, { cost: 2_000 })).rejects.toThrow(
      'reserve() of "tokens", "requests" needs to know which rule is settled; write cost by rule name, such as ' +
        '{ "tokens": 2000 }, or settles: "tokens"',
    );
    await expect(limits.consume(route, IP, { cost: { token: 2_000 } })).rejects.toThrow(
      'a rule name in the options of consume: got "token": did you mean "tokens"?; allowed: "tokens", "requests"',
    );
    const reservation = await limits.reserve(route, IP, { cost: { tokens: 2_000 } });
    await reservation.settle({ tokens: 1_500 });
    expect(await left(route, IP)).toEqual([8_500, 59]);
    const one = await limits.reserve({ ...route, rule: 'tokens' }, IP, { cost: 100 });
    await one.settle(50);
    expect(await left(route, IP)).toEqual([8_450, 59]);
  });

  it('charges a subject with an exception nothing, also if its cost is by name', async () => {
    const { limits, left } = await start();
    await limits.rules.setException('tokens', IP, 'allow', { by: 'ops' });
    const decision = await limits.consume(['tokens', 'requests'], IP, { cost: { tokens: 20_000 } });
    expect(decision.allowed).toBe(true);
    expect(await left(['tokens', 'requests'], IP)).toEqual([10_000, 59]);
  });

  it('charges a subject with an exception nothing when a reservation is settled, so that it has no debt after the exception', async () => {
    const { limits, left } = await start();
    await limits.rules.setException('tokens', IP, 'allow', { by: 'ops' });
    const reservation = await limits.reserve(['tokens', 'requests'], IP, { cost: { tokens: 200 } });
    expect(reservation.used({ tokens: 30_000 })).toBe(true);
    expect(await reservation.settle({ tokens: 50_000 })).toBe(false);
    await limits.rules.unsetException('tokens', IP, { by: 'ops' });
    expect(await left(['tokens', 'requests'], IP)).toEqual([10_000, 59]);
  });

  it('allows a subject with an exception in programs as on routes, while it is blocked or all others are denied', async () => {
    const { limits } = await start();
    await limits.rules.setException('mails', IP, 'allow', { by: 'ops' });
    await limits.block('mails', IP, '1h');
    const allowed = { allowed: true, retryAfterMs: 0, decisions: [{ allowed: true }] };
    expect(await limits.consume('mails', IP)).toMatchObject(allowed);
    await limits.rules.set('mails', { limit: 0 }, { by: 'ops' });
    expect(await limits.consume('mails', IP)).toMatchObject(allowed);
    expect(await limits.acquire('mails', IP, { maxWait: '0s' })).toMatchObject(allowed);
    expect(await limits.peek('mails', '203.0.113.8')).toMatchObject({ allowed: false });
  });

  it('settles the rules that it has when a name is wrong after the work, and logs that once', async () => {
    const { logs, limits, left, warnings } = await start();
    const reserve = () => limits.reserve(['tokens', 'requests'] as string[], IP, { cost: { tokens: 2_000 } });
    const reservation = await reserve();
    expect(await reservation.settle({ tokens: 1_500, request: 2 })).toBe(true);
    expect(await left(['tokens', 'requests'], IP)).toEqual([8_500, 59]);
    expect(await (await reserve()).settle(1_500)).toBe(false);
    expect(await left(['tokens', 'requests'], IP)).toEqual([6_500, 58]);
    const message =
      'A reservation of the rules "tokens", "requests" was settled with the rule "request", which is not among them. ' +
      'Rules that settle() does not name keep their charge. Correct the name: did you mean "requests"?';
    expect(logs.ours().filter(({ message: line }) => line.includes(CODE))).toEqual([
      { level: 'warn', message: `${message} ${CODE}` },
    ]);
    expect(warnings.active.get('RL_SETTLED_IN_PART')).toBe(message);
  });

  it('settled with a number, without settles, keeps its charges and logs how to name the rule', async () => {
    const { logs, limits, left } = await start();
    const rules: readonly string[] = ['tokens', 'requests'];
    const reservation = await limits.reserve(rules, IP, { cost: { tokens: 2_000 } });
    expect(await reservation.settle(1_500)).toBe(false);
    expect(await left(rules, IP)).toEqual([8_000, 59]);
    expect(logs.ours().at(-1)!.message).toBe(
      'A reservation of the rules "tokens", "requests" was settled with 1500 and no rule name, so every rule keeps its ' +
        `charge. Settle by rule name, such as { "tokens": 1500 }, or reserve with settles. ${CODE}`,
    );
  });

  it('is settled under the limits that charged it, though live changes came between', async () => {
    const { limits, left } = await start();
    const rules = ['tokens', 'requests'] as const;
    const budget = await limits.reserve(rules, IP, { cost: { tokens: 2_000 } });
    await limits.rules.set('tokens', { limit: 5_000 }, { by: 'ops' });
    await limits.rules.set('requests', { window: '2m' }, { by: 'ops' });
    expect(await budget.settle({ tokens: 1_000, requests: 3 })).toBe(true);
    expect(await left(rules, IP)).toEqual([4_500, 60]); // instants of being full stay: a tenth of the limit is used
    await limits.rules.unset('tokens', { by: 'ops' });
    await limits.rules.unset('requests', { by: 'ops' });
    expect(await left(rules, IP)).toEqual([9_000, 57]);
  });

  it('refunds what it took when it is cancelled after a live change', async () => {
    const { limits, left } = await start();
    const rules = ['tokens', 'requests'] as const;
    const budget = await limits.reserve(rules, IP, { cost: { tokens: 2_000 } });
    await limits.rules.set('tokens', { limit: 20_000 }, { by: 'ops' });
    expect(await budget.cancel()).toBe(true);
    expect(await left(rules, IP)).toEqual([20_000, 60]);
  });
});
