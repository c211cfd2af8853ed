import { Controller, Get, type ExecutionContext } from '@nestjs/common';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import {
  RateLimitEvents,
  RateLimitModule,
  RateLimitService,
  type RateLimitModuleOptions,
} from '../../lib/index.js';
import { limitHeaders } from '../support/http-client.js';
import { closeApps, FRAMEWORKS, SETUPS, startApp } from '../support/nest-app.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';
import { virtualStore, VirtualTime } from '../support/virtual-store.js';

const LIVE = { window: '1m', limit: 3, algorithm: 'fixed-window', scope: 'shared' } as const;
const STRICT = { ...LIVE, limit: 1, mode: 'shadow' } as const;

@Controller()
class Routes {
  @Get() get() {}
}

afterEach(closeApps);

describe.each(SETUPS)('a limit in shadow mode, on $framework with $kind', ({ framework, kind }) => {
  async function start(rules: NonNullable<RateLimitModuleOptions['rules']>) {
    const time = new VirtualTime();
    const seen: (readonly [rule: string, allowed: boolean, remaining: number])[][] = [];
    const limits = RateLimitModule.forRoot({ rules, prefix: uniquePrefix() });
    const { app, get } = await startApp(
      { imports: [limits], controllers: [Routes] },
      { framework, store: virtualStore(kind, time) },
    );
    app.get(RateLimitEvents).on('decision', ({ decision, context }) => {
      if (!context) return;
      seen.push(
        decision.decisions.map(({ rule, allowed, remaining }) => [rule, allowed, remaining] as const),
      );
    });
    const statuses = async (requests: number) => {
      const found: number[] = [];
      for (let nth = 1; nth <= requests; nth++) found.push((await get('/')).status);
      return found;
    };
    return { time, get, seen, statuses, service: app.get(RateLimitService) };
  }

  it('a shadow rule denies no request but reports its decision for each', async () => {
    const { time, seen, statuses } = await start({ strict: STRICT });
    expect(await statuses(3)).toEqual([200, 200, 200]);
    time.advance(60_000);
    expect(await statuses(1)).toEqual([200]);
    expect(seen).toEqual([
      [['strict', true, 0]],
      [['strict', false, 0]],
      [['strict', false, 0]],
      [['strict', true, 0]],
    ]);
  });

  it('a shadow rule is not reported to clients', async () => {
    const { get } = await start({ strict: STRICT });
    for (let nth = 1; nth <= 2; nth++) expect(limitHeaders(await get('/'))).toEqual({});
  });

  it('a shadow rule and the enforced rules do not affect each other', async () => {
    const { get, seen } = await start({ strict: STRICT, live: LIVE });
    const answers = [];
    for (let nth = 1; nth <= 4; nth++) answers.push(await get('/'));
    expect(answers.map((answer) => [answer.status, limitHeaders(answer)['ratelimit']])).toEqual([
      [200, '"live";r=2;t=40'],
      [200, '"live";r=1;t=20'],
      [200, '"live";r=0;t=60'],
      [429, '"live";r=0;t=60'],
    ]);
    for (const answer of answers) expect(limitHeaders(answer)['ratelimit-policy']).toBe('"live";q=3;w=60');
    expect(JSON.parse(answers[3]!.body)).toMatchObject({
      detail: 'Rule "live" allows 3 per 1 m; try again in 1 m.',
      'violated-policies': ['live'],
    });
    expect(seen.map(([strict]) => strict)).toEqual([
      ['strict', true, 0],
      ['strict', false, 0],
      ['strict', false, 0],
      ['strict', false, 0],
    ]);
  });

  it('a block of a shadow rule affects only that rule', async () => {
    const { time, seen, statuses } = await start({ strict: { ...STRICT, block: '5m' }, live: LIVE });
    expect(await statuses(2)).toEqual([200, 200]);
    time.advance(60_000);
    expect(await statuses(3)).toEqual([200, 200, 200]);
    expect(seen.at(-1)).toEqual([
      ['strict', false, 0],
      ['live', true, 0],
    ]);
  });

  it('a trial limit is reported while the current limit still decides', async () => {
    const { get, seen } = await start({ live: { ...LIVE, trial: { limit: 2, window: '2m' } } });
    const answers = [];
    for (let nth = 1; nth <= 4; nth++) answers.push(await get('/'));
    expect(answers.map((answer) => [answer.status, limitHeaders(answer)['ratelimit']])).toEqual([
      [200, '"live";r=2;t=40'],
      [200, '"live";r=1;t=20'],
      [200, '"live";r=0;t=60'],
      [429, '"live";r=0;t=60'],
    ]);
    expect(JSON.parse(answers[3]!.body)).toMatchObject({ 'violated-policies': ['live'] });
    expect(seen).toEqual([
      [
        ['live', true, 2],
        ['live?', true, 1],
      ],
      [
        ['live', true, 1],
        ['live?', true, 0],
      ],
      [
        ['live', true, 0],
        ['live?', false, 0],
      ],
      [
        ['live', false, 0],
        ['live?', false, 0],
      ],
    ]);
  });

  it('a trial limit can accompany a limit that depends on the request', async () => {
    const { seen, statuses } = await start({ live: { ...LIVE, limit: () => 3, trial: { limit: 1 } } });
    expect(await statuses(2)).toEqual([200, 200]);
    expect(seen).toEqual([
      [
        ['live', true, 2],
        ['live?', true, 0],
      ],
      [
        ['live', true, 1],
        ['live?', false, 0],
      ],
    ]);
  });

  it('a trial limit charges the same cost that depends on the request', async () => {
    const { seen, statuses } = await start({ live: { ...LIVE, cost: () => 2, trial: { limit: 9 } } });
    expect(await statuses(1)).toEqual([200]);
    expect(seen).toEqual([
      [
        ['live', true, 1],
        ['live?', true, 7],
      ],
    ]);
  });

  it('programs can look up a shadow rule', async () => {
    const { statuses, service } = await start({ live: { ...LIVE, trial: { limit: 1 } } });
    await statuses(2);
    const { allowed, rule, decisions } = await service.peek('live', '127.0.0.1', { cost: 1 });
    expect({ allowed, rule }).toEqual({ allowed: true, rule: 'live' });
    expect(decisions).toMatchObject([
      { rule: 'live', allowed: true, remaining: 0 },
      { rule: 'live?', allowed: false, remaining: 0, shadow: true },
    ]);
  });
});

describe.each(FRAMEWORKS)('listeners of decisions on %s', (framework) => {
  async function start() {
    const limits = RateLimitModule.forRoot({ rules: { live: { ...LIVE, limit: 1 } } });
    const app = await startApp({ imports: [limits], controllers: [Routes] }, { framework });
    const statuses = async () => [(await app.get('/')).status, (await app.get('/')).status];
    const events: RateLimitEvents<ExecutionContext> = app.app.get(RateLimitEvents);
    return { events, service: app.app.get(RateLimitService), statuses };
  }

  it('receive every decision with its request, and of programs without one', async () => {
    const seen: unknown[] = [];
    const { events, service, statuses } = await start();
    events.on('decision', ({ decision, context }) => {
      seen.push([decision.allowed, decision.source, context?.getHandler(), context?.getClass()]);
    });
    expect(await statuses()).toEqual([200, 429]);
    await service.consume('live', '203.0.113.7');
    const { get } = Routes.prototype;
    expect(seen).toEqual([
      [true, 'memory', get, Routes],
      [false, 'memory', get, Routes],
      [true, 'memory', undefined, undefined],
    ]);
  });

  it('receive only denials if they ask for no more, before the handler is called, until they are removed', async () => {
    const seen: boolean[] = [];
    const { events, statuses } = await start();
    const remove = events.on('decision', ({ decision }) => seen.push(decision.allowed), { only: 'denied' });
    expect(await statuses()).toEqual([200, 429]);
    remove();
    expect(await statuses()).toEqual([429, 429]);
    expect(seen).toEqual([false]);
  });

  const failing: [string, () => unknown][] = [
    ['throws', () => fail()],
    ['rejects', async () => fail()],
  ];
  it.each(failing)(
    'a request is not affected when one %s, except for a warning of the process',
    async (_title, listener) => {
      const warned = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
      const { events, statuses } = await start();
      events.on('decision', listener);
      expect(await statuses()).toEqual([200, 429]);
      await until(() => warned.mock.calls.length === 2, 'two warnings');
      const lines = warned.mock.calls.map(([message]) => message);
      const details = warned.mock.calls.map(([, options]) => (options as { detail: string }).detail);
      warned.mockRestore();
      const line = 'A listener of RateLimitEvents or a meter failed: no metrics of ann\\u000a\\u001b[2J';
      expect(lines).toEqual([line, line]);
      for (const detail of details) expect(detail).toMatch(/^( +at .*\n?)+$/);
    },
  );
});

function fail(): never {
  throw new Error('no metrics of ann\n\u001b[2J');
}
