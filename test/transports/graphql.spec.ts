import { afterEach, describe, expect, it } from '@jest/globals';
import { until } from '../support/redis/until.mjs';
import { desk, GRAPHQL, startGraphql } from './graphql-app.js';
import { INSTANCE } from '../support/denial-id.js';

type App = Awaited<ReturnType<typeof startGraphql>>;

const running = new Set<App>();

async function start(...given: Parameters<typeof startGraphql>): Promise<App> {
  const app = await startGraphql(...given);
  running.add(app);
  return app;
}

afterEach(async () => {
  for (const app of running) await app.close();
  running.clear();
});

const OTHER = '203.0.113.2';

/** The context of an application that keeps only parts of the request. */
const OF_PARTS = {
  context: ({ req }: { req?: { ip: string } }) => ({ req: { ip: req?.ip ?? '203.0.113.1' } }),
};

describe.each(GRAPHQL)('limits in GraphQL: $title', (setup) => {
  it('a query is allowed up to its limit, and denied with a code, the rules and a wait', async () => {
    const { query } = await start(setup);
    const allowed = await query('{ orders }');
    expect(allowed).toMatchObject({ status: 200, data: { orders: 'ok' }, errors: [] });
    expect(allowed.headers).toEqual({
      'ratelimit-policy': '"orders";q=2;w=60',
      ratelimit: '"orders";r=1;t=30',
    });
    await query('{ orders }');
    const denied = await query('{ orders }');
    expect(denied).toMatchObject({ status: 429, errors: ['TOO_MANY_REQUESTS'] });
    expect(denied.data?.['orders'] ?? null).toBeNull();
    expect(denied.extensions).toMatchObject({
      retryAfterMs: expect.any(Number),
      violatedPolicies: ['orders'],
      ...INSTANCE,
    });
    expect(denied.headers).toMatchObject({
      'ratelimit-policy': '"orders";q=2;w=60',
      'retry-after': expect.stringMatching(/^(59|60)$/),
    });
  });

  it('@Usage() has what the caller has left after its own field, also if an operation has several', async () => {
    const { query } = await start(setup);
    expect((await query('{ quota }')).data).toEqual({ quota: 'quota 3' });
    const { data } = await query('{ one: quota two: quota orders }');
    expect(data).toEqual({
      one: expect.any(String),
      two: expect.any(String),
      orders: 'ok',
    });
    expect([data!['one'], data!['two']].sort()).toEqual(['quota 1', 'quota 2']);
  });

  it.each<[string[], number, object]>([
    [['{ orders }', '{ quota }'], 200, {}],
    [['{ orders }', '{ orders }'], 429, {}],
    [['{ orders }', '{ quota }'], 200, OF_PARTS],
    [['{ orders }', '{ orders }'], 429, OF_PARTS],
  ])(
    'a batch %j has the headers of all its operations, and gets %i: 429 if none has data',
    async (texts, status, context) => {
      const batched = { allowBatchedHttpRequests: true, allowBatchedQueries: true };
      const options = { ...setup.options, ...batched, ...context };
      const app = await start({ ...setup, options });
      for (let nth = 1; nth <= 2; nth++) await app.query('{ orders }');
      const answers = [texts, [...texts].reverse()].map((queries) =>
        app.send({
          method: 'POST',
          path: '/graphql',
          headers: { 'content-type': 'application/json', 'x-forwarded-for': '203.0.113.1' },
          body: JSON.stringify(queries.map((query) => ({ query }))),
        }),
      );
      for (const { status: answered, headers } of await Promise.all(answers)) {
        expect(answered).toBe(status);
        const names = ['orders', ...(status === 200 ? ['quota'] : [])];
        for (const name of names) expect(headers['ratelimit-policy']).toContain(name);
      }
    },
  );

  it.each(['nest', () => ({ statusCode: 429, message: 'slow down' })] as const)(
    'the option `body` changes no error: %p',
    async (body) => {
      const { query } = await start(setup, { body });
      for (let nth = 1; nth <= 2; nth++) await query('{ orders }');
      expect(await query('{ orders }')).toMatchObject({ status: 429, errors: ['TOO_MANY_REQUESTS'] });
    },
  );

  it('clients have a counter each', async () => {
    const { query } = await start(setup);
    for (let nth = 1; nth <= 3; nth++) await query('{ orders }');
    expect(await query('{ orders }', OTHER)).toMatchObject({ status: 200, errors: [] });
  });

  it('the headers have the rules of all root fields, and the status is 200 if a field has data', async () => {
    const { query } = await start(setup);
    expect(await query('{ a: orders parcels b: orders }')).toMatchObject({
      status: 200,
      headers: {
        'ratelimit-policy': '"orders";q=2;w=60, "parcels";q=5;w=60',
        ratelimit: '"orders";r=0;t=60, "parcels";r=4;t=48',
      },
    });
    expect(await query('{ parcels orders }')).toMatchObject({
      status: 200,
      data: { parcels: 'ok', orders: null },
      errors: ['TOO_MANY_REQUESTS'],
    });
    expect(await query('{ a: orders b: orders }')).toMatchObject({
      status: 429,
      errors: ['TOO_MANY_REQUESTS', 'TOO_MANY_REQUESTS'],
    });
  });

  it("a mutation that throws counts for count: 'failures', and one that succeeds does not", async () => {
    const { query } = await start(setup);
    const login = (password: string) => query(`mutation { login(password: "${password}") }`);
    expect(await login('right')).toMatchObject({ data: { login: true } });
    // The refund is on its way when the response arrives.
    await until(async () => (await login('right')).errors.length === 0, 'the refund of a success');
    await until(async () => (await login('wrong')).errors[0] !== 'TOO_MANY_REQUESTS', 'a failure to count');
    expect(await login('right')).toMatchObject({ status: 429, errors: ['TOO_MANY_REQUESTS'] });
  });

  it('a permit of a query is released when its resolver ends', async () => {
    const { query } = await start(setup);
    const first = query('{ slow }');
    await until(() => desk.gate.inside === 1, 'the first query');
    expect(await query('{ slow }')).toMatchObject({
      status: 429,
      errors: ['TOO_MANY_REQUESTS'],
      headers: { 'ratelimit-policy': '"slow";q=1;qu="concurrent-requests"' },
    });
    desk.gate.open();
    expect(await first).toMatchObject({ data: { slow: 'done' } });
    const again = async () => {
      const answer = query('{ slow }');
      await until(
        async () => desk.gate.inside === 1 || (await isSettled(answer)),
        'the query to end or wait',
      );
      desk.gate.open();
      return (await answer).errors.length === 0;
    };
    await until(again, 'the permit to be released');
  });

  it('a later guard that denies leaves no permit taken and no success charged', async () => {
    const { query } = await start(setup);
    const answers = [];
    for (let nth = 1; nth <= 4; nth++) answers.push(await query('{ closed }'));
    expect(answers.map(({ errors }) => errors[0])).toEqual([
      'Forbidden resource',
      'Forbidden resource',
      'Forbidden resource',
      'TOO_MANY_REQUESTS', // by the rule that counts failures
    ]);
    expect(answers[3]!.extensions).toMatchObject({ violatedPolicies: ['tried'] });
  });

  it('a query that finds no permit is charged for no other rule', async () => {
    const { query } = await start(setup);
    const first = query('{ both }');
    await until(() => desk.gate.inside === 1, 'the first query');
    expect((await query('{ both }')).extensions).toMatchObject({ violatedPolicies: ['both'] });
    desk.gate.open();
    await first;
    // The window of two has a permit left, if the denied query took none.
    await until(async () => {
      const next = query('{ both }');
      await until(async () => desk.gate.inside === 1 || (await isSettled(next)), 'the next query');
      desk.gate.open();
      return (await next).errors.length === 0;
    }, 'a query with a permit');
    expect((await query('{ both }')).extensions).toMatchObject({ violatedPolicies: ['window'] });
  });

  it('a subscription holds its permit until it ends, and a denied one gets an error', async () => {
    const { subscribe } = await start(setup);
    const first = subscribe('subscription { ticks }');
    const publish = () => desk.pubsub.publish('ticks', { ticks: 'tick' });
    await until(async () => {
      await publish();
      return first.received.length > 0;
    }, 'the first value');
    const second = subscribe('subscription { ticks }');
    await until(() => second.errors.length > 0, 'the denial');
    expect(second.codes()).toEqual(['TOO_MANY_REQUESTS']);
    expect(second.errors[0]!.extensions).toMatchObject({ violatedPolicies: ['stream'] });
    await until(() => second.state.isClosed, 'the end of the denied subscription');
    expect(second.state.isError).toBe(setup.title.startsWith('Mercurius'));
    const elsewhere = subscribe('subscription { ticks }', OTHER);
    await until(async () => {
      await publish();
      return elsewhere.received.length > 0;
    }, 'the value of another client');
    first.stop();
    await until(async () => {
      const next = subscribe('subscription { ticks }');
      await until(async () => {
        await publish();
        return next.received.length + next.errors.length > 0;
      }, 'a value or a denial');
      return next.errors.length === 0;
    }, 'the permit of a subscription that ended');
  });

  it('a subscriber that disconnects releases its permit', async () => {
    const { subscribe } = await start(setup);
    const publish = () => desk.pubsub.publish('ticks', { ticks: 'tick' });
    const first = subscribe('subscription { ticks }');
    await until(async () => {
      await publish();
      return first.received.length > 0;
    }, 'the first value');
    first.leave();
    await until(async () => {
      const next = subscribe('subscription { ticks }');
      await until(async () => {
        await publish();
        return next.received.length + next.errors.length > 0;
      }, 'a value or a denial');
      return next.errors.length === 0;
    }, 'the permit of a client that has left');
  });

  it("the module's rules limit root fields, and no field of an object", async () => {
    const { query } = await start(setup, {
      rules: { default: { window: '1m', limit: 2, algorithm: 'fixed-window' } },
    });
    expect(await query('{ authors { name books } }')).toMatchObject({
      headers: { ratelimit: '"default";r=1;t=30' },
      data: { authors: [{ books: 3 }, { books: 3 }] },
    });
    await query('{ authors { name books } }');
    expect(await query('{ authors { name } }')).toMatchObject({ status: 429, errors: ['TOO_MANY_REQUESTS'] });
  });
});

/** Whether a promise is settled. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  const pending = Symbol('pending');
  return (await Promise.race([promise, Promise.resolve(pending)])) !== pending;
}
