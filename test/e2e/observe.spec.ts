import { Controller, Get } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  RateLimitModule,
  RateLimitService,
  type Decision,
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
    const onDecision = ({ decisions }: Decision) =>
      seen.push(decisions.map(({ rule, allowed, remaining }) => [rule, allowed, remaining] as const));
    const limits = RateLimitModule.forRoot({ rules, prefix: uniquePrefix(), onDecision });
    const { app, get } = await startApp(
      { imports: [limits], controllers: [Routes] },
      { framework, store: virtualStore(kind, time) },
    );
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

describe.each(FRAMEWORKS)('onDecision on %s', (framework) => {
  async function start(onDecision: RateLimitModuleOptions['onDecision']) {
    const limits = RateLimitModule.forRoot({ rules: { live: { ...LIVE, limit: 1 } }, onDecision });
    const app = await startApp({ imports: [limits], controllers: [Routes] }, { framework });
    const statuses = [(await app.get('/')).status, (await app.get('/')).status];
    return { statuses, errors: () => app.logs.ours().filter(({ level }) => level === 'error') };
  }

  it('onDecision receives denials with their request', async () => {
    const seen: unknown[] = [];
    const { statuses } = await start(({ allowed, source }, context) =>
      seen.push([allowed, source, context.getHandler(), context.getClass()]),
    );
    expect(statuses).toEqual([200, 429]);
    const { get } = Routes.prototype;
    expect(seen).toEqual([
      [true, 'memory', get, Routes],
      [false, 'memory', get, Routes],
    ]);
  });

  const failing: [string, () => unknown][] = [
    ['throws', () => fail()],
    ['rejects', async () => fail()],
  ];
  it.each(failing)(
    'a request is not affected when onDecision %s, except for a log line',
    async (_title, onDecision) => {
      const { statuses, errors } = await start(onDecision);
      expect(statuses).toEqual([200, 429]);
      await until(() => errors().length === 2, 'two lines in the log');
      const line = { level: 'error', message: '`onDecision` failed.' };
      expect(errors()).toEqual([line, line]);
    },
  );
});

function fail(): never {
  throw new Error('no metrics');
}
