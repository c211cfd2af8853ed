import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimiter } from '../../lib/limiter.js';
import { until } from '../support/redis/until.mjs';
import { depot, LINKS, startMicroservice } from './microservice-app.js';
import { INSTANCE } from '../support/denial-id.js';

type App = Awaited<ReturnType<typeof startMicroservice>>;

const running = new Set<App>();

async function start(...given: Parameters<typeof startMicroservice>): Promise<App> {
  const app = await startMicroservice(...given);
  running.add(app);
  return app;
}

afterEach(async () => {
  for (const app of running) await app.close();
  running.clear();
});

const problem = (rule: string) => ({
  error: expect.objectContaining({
    status: 429,
    'violated-policies': [rule],
    retryAfterMs: expect.any(Number),
    ...INSTANCE,
  }),
});

const SETUPS = LINKS.flatMap((link) => (['alone', 'hybrid'] as const).map((kind) => ({ link, kind })));

describe.each(SETUPS)('limits in microservices: $link, $kind', ({ link, kind }) => {
  const startDepot = (limits = {}) => start(link, limits, kind);

  it('a message is allowed up to its limit, and a denied one is answered with problem details', async () => {
    const { send } = await startDepot();
    expect([await send('sum', [1, 2]), await send('sum', [3, 4])]).toEqual([3, 7]);
    expect(await send('sum', [5, 6])).toEqual(problem('sum'));
    expect(await send('free')).toBe('free');
  });

  it('@Usage() has what the sender of a message has left after it', async () => {
    const { send } = await startDepot();
    expect(await send('quota')).toEqual([{ rule: 'quota', remaining: 3 }]);
    const both = [await send('quota', { any: 'data' }), await send('quota', 'text')];
    expect(both).toEqual([[{ rule: 'quota', remaining: 2 }], [{ rule: 'quota', remaining: 1 }]]);
  });

  it('a rule by IP stops the application, since messages have no client address', async () => {
    await expect(startDepot({ overrides: { sum: { by: 'ip' } } })).rejects.toThrow(
      'rule "sum" of Depot.sum.by: got "ip", but a message or an event has no client address; allowed: "everyone"',
    );
  });

  it('a rule by the IP in a header stops the application, since messages have no headers', async () => {
    await expect(startDepot({ overrides: { sum: { by: { ip: 'x-real-ip' } } } })).rejects.toThrow(
      'rule "sum" of Depot.sum.by: got {"ip":"x-real-ip"}, but a message or an event has no client address',
    );
  });

  it('a function in `by` gives each sender a counter', async () => {
    const { send } = await startDepot();
    expect([await send('tenant', 'ada'), await send('tenant', 'grace')]).toEqual(['ada', 'grace']);
    expect(await send('tenant', 'ada')).toEqual(problem('tenant'));
  });

  it("a handler that throws counts for count: 'failures', and one that succeeds does not", async () => {
    const { send } = await startDepot();
    expect(await send('login', 'right')).toBe('in');
    await until(async () => (await send('login', 'right')) === 'in', 'the refund of a success');
    const fails = async () =>
      ((await send('login', 'wrong')) as { error: { message?: string } }).error.message;
    await until(async () => (await fails()) === 'Internal server error', 'a failure to count');
    expect(await send('login', 'right')).toEqual(problem('login'));
  });

  it('a permit is released when the handler ends', async () => {
    const { send } = await startDepot();
    const first = send('slow');
    await until(() => depot.gate.inside === 1, 'the first message');
    expect(await send('slow')).toEqual(problem('slow'));
    depot.gate.open();
    expect(await first).toBe('done');
    await until(async () => {
      let isDone = false;
      const next = send('slow').finally(() => (isDone = true));
      await until(() => depot.gate.inside === 1 || isDone, 'the next message');
      depot.gate.open();
      return (await next) === 'done';
    }, 'the permit');
  });

  it('a permit of a stream is released when the stream ends', async () => {
    const { client, send } = await startDepot();
    const values: unknown[] = [];
    const stream = client.send<unknown>('stream', '').subscribe((value) => values.push(value));
    await until(() => values.length === 1, 'the first value');
    expect(await send('stream')).toEqual(problem('stream'));
    depot.gate.open();
    await until(() => stream.closed, 'the end of the stream');
    await until(async () => {
      const next: unknown[] = [];
      const following = client.send<unknown>('stream', '').subscribe({
        next: (value) => next.push(value),
        error: (error: unknown) => next.push(error),
      });
      await until(() => next.length > 0, 'a value or a denial');
      depot.gate.open();
      await until(() => following.closed, 'the end of the next stream');
      return next[0] === 'first';
    }, 'the permit');
  });

  it('a later guard that denies leaves no permit taken, and the message counts as a failure', async () => {
    const { send } = await startDepot();
    const replies = [];
    for (let nth = 1; nth <= 4; nth++) replies.push(await send('closed'));
    const forbidden = { error: expect.objectContaining({ message: 'Forbidden resource' }) };
    expect(replies).toEqual([forbidden, forbidden, forbidden, problem('tried')]);
  });

  it('a denied event is dropped, logged once, and emitted', async () => {
    const { emit, send, app, logs } = await startDepot();
    const denied: string[] = [];
    app
      .get(RateLimiter)
      .events.on('decision', ({ decision }) => denied.push(decision.rule), { only: 'denied' });
    for (const parcel of [1, 2, 3, 4]) await emit('stored', parcel);
    await until(() => denied.length === 2, 'the denials');
    expect(await send('free')).toBe('free');
    expect([...depot.events].sort()).toHaveLength(2);
    const lines = logs.ours().filter(({ message }) => message.includes('RL_EVENT_DENIED'));
    expect(lines).toEqual([
      { level: 'warn', message: expect.stringMatching(/^Rule "stored" denied an event for Depot\.stored/) },
    ]);
  });

  const rules = { default: { window: '1m', limit: 1, algorithm: 'fixed-window', by: 'everyone' } };

  it("the module's rules do not limit messages", async () => {
    const { send } = await startDepot({ rules });
    for (let nth = 1; nth <= 3; nth++) expect(await send('free')).toBe('free');
  });

  it("the module's rules limit messages if `transports` has rpc", async () => {
    const { send } = await startDepot({ rules, transports: ['rpc'] });
    expect(await send('free')).toBe('free');
    expect(await send('free')).toEqual(problem('default'));
  });

  it("a denied event is an error for its transport with onDeniedEvent: 'throw'", async () => {
    const { emit, send, logs } = await startDepot({ onDeniedEvent: 'throw' });
    for (const parcel of [1, 2, 3]) await emit('stored', parcel);
    const hasLine = () => logs.ours().some(({ message }) => message.includes("(`onDeniedEvent: 'throw'`)"));
    await until(hasLine, 'the log line');
    expect(await send('free')).toBe('free');
  });
});
