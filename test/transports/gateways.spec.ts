import { afterEach, describe, expect, it } from '@jest/globals';
import { until } from '../support/redis/until.mjs';
import { INSTANCE } from '../support/denial-id.js';
import {
  ADAPTERS,
  answersErrors,
  room,
  startGateway,
  type Adapter,
  type GatewayClient,
  type Received,
} from './gateway-app.js';

type App = Awaited<ReturnType<typeof startGateway>>;

const running = new Set<App>();

async function start(...given: Parameters<typeof startGateway>): Promise<App> {
  const app = await startGateway(...given);
  running.add(app);
  return app;
}

afterEach(async () => {
  for (const app of running) await app.close();
  running.clear();
});

const ADA = '203.0.113.1';
const GRACE = '203.0.113.2';

/** Sends an event, and returns the reply of the server. */
async function reply(client: GatewayClient, event: string, data?: unknown): Promise<Received> {
  const before = client.received.length;
  client.send(event, data);
  await until(() => client.received.length > before, `a reply to ${event}`);
  return client.received[before]!;
}

const problem = (rule: string) => [
  'exception',
  expect.objectContaining({
    status: 429,
    'violated-policies': [rule],
    retryAfterMs: expect.any(Number),
    ...INSTANCE,
  }),
];

/** Sends a message to the handler that waits at the gate. Returns whether it was allowed. */
async function isAllowed(client: GatewayClient, event = 'slow'): Promise<boolean> {
  const before = client.received.length;
  client.send(event);
  await until(() => room.gate.inside === 1 || client.received.length > before, 'the next message');
  return room.gate.inside === 1;
}

const SETUPS = ADAPTERS.flatMap((adapter) =>
  (['express', 'fastify'] as const).map((framework) => ({ adapter, framework })),
);

describe.each(SETUPS)('limits in gateways: $adapter on $framework', ({ adapter, framework }) => {
  const startRoom = (limits = {}) => start(adapter, limits, framework);

  it('a message is allowed up to its limit, and a denied one is answered with problem details', async () => {
    const { from } = await startRoom();
    const client = await from(ADA);
    expect(await reply(client, 'say', 'hello')).toEqual(['said', 'hello']);
    await reply(client, 'say', 'again');
    expect(await reply(client, 'say', 'more')).toEqual(problem('say'));
    // The socket stays open.
    expect(await reply(client, 'free')).toEqual(['freed', 'free']);
  });

  it('clients behind a trusted proxy have a counter each, whatever their number of sockets', async () => {
    const { from } = await startRoom();
    const [ada, second, grace] = [await from(ADA), await from(ADA), await from(GRACE)];
    await reply(ada, 'say');
    await reply(second, 'say');
    expect(await reply(ada, 'say')).toEqual(problem('say'));
    expect(await reply(second, 'say')).toEqual(problem('say'));
    expect((await reply(grace, 'say'))[0]).toBe('said');
  });

  it("a handler that throws counts for count: 'failures', and one that succeeds does not", async () => {
    const { from } = await startRoom();
    const client = await from(ADA);
    const isIn = async () => (await reply(client, 'login', 'right'))[0] === 'welcome';
    expect(await isIn()).toBe(true);
    await until(isIn, 'the refund of a success');
    const fails = async () => {
      const [, data] = await reply(client, 'login', 'wrong');
      return (data as { status?: unknown }).status === 'error';
    };
    if (answersErrors(adapter)) await until(fails, 'a failure to count');
    else client.send('login', 'wrong');
    await until(async () => !(await isIn()), 'a denial');
    expect(client.received.at(-1)).toEqual(problem('login'));
  });

  it('a permit is released when the handler ends', async () => {
    const { from } = await startRoom();
    const client = await from(ADA);
    client.send('slow');
    await until(() => room.gate.inside === 1, 'the first message');
    expect(await reply(client, 'slow')).toEqual(problem('slow'));
    room.gate.open();
    await until(() => client.received.some(([event]) => event === 'done'), 'the first reply');
    await until(() => isAllowed(client), 'the permit');
  });

  it.each([
    ['a promise', 'slow'],
    ['a query', 'query'],
  ])(
    'a permit is held until a handler that returns %s has ended, although its client has disconnected',
    async (_result, event) => {
      const { from } = await startRoom();
      const client = await from(ADA);
      for (let nth = 0; nth < 3; nth++) {
        const gone = await from(ADA);
        gone.send(event);
        await until(() => room.gate.inside === 1, 'the first message');
        gone.close();
        expect(await reply(client, event)).toEqual(problem(event));
      }
      room.gate.open();
      await until(() => isAllowed(client, event), 'the permit');
      expect(room.gate.most).toBe(1);
    },
  );

  it('a permit is released when a client disconnects before a handler starts, which then does not run', async () => {
    const { from } = await startRoom();
    const gone = await from(ADA);
    gone.send('piped');
    await until(() => room.gate.inside === 1, 'the pipe');
    gone.close();
    await until(async () => (await reply(await from(ADA), 'watch'))[0] === 'watched', 'the permit');
    room.gate.open();
    await until(async () => (await reply(await from(GRACE), 'free'))[0] === 'freed', 'a later message');
    expect(room.piped).toBe(0);
  });

  it('a permit of an Observable without an end is released when its client disconnects', async () => {
    const { from } = await startRoom();
    const gone = await from(ADA);
    expect((await reply(gone, 'watch'))[0]).toBe('watched');
    expect(await reply(gone, 'watch')).toEqual(problem('watch'));
    gone.close();
    await until(async () => (await reply(await from(ADA), 'watch'))[0] === 'watched', 'the permit');
  });

  it('a later guard that denies leaves no permit taken, and the request counts as a failure', async () => {
    const { from } = await startRoom();
    const client = await from(ADA);
    const forbidden = ['exception', expect.objectContaining({ message: 'Forbidden resource' })];
    for (let nth = 1; nth <= 3; nth++) {
      if (answersErrors(adapter)) expect(await reply(client, 'closed')).toEqual(forbidden);
      else client.send('closed');
    }
    expect(await reply(client, 'closed')).toEqual(problem('tried'));
  });

  it("the module's rules limit every message", async () => {
    const rules = { default: { window: '1m', limit: 1, algorithm: 'fixed-window' } };
    const { from } = await startRoom({ rules });
    const client = await from(ADA);
    expect((await reply(client, 'free'))[0]).toBe('freed');
    expect(await reply(client, 'free')).toEqual(problem('default'));
  });

  it("the module's rules do not limit messages with transports: ['http']", async () => {
    const rules = { default: { window: '1m', limit: 1, algorithm: 'fixed-window' } };
    const { from } = await startRoom({ rules, transports: ['http'] });
    const client = await from(ADA);
    for (let nth = 1; nth <= 3; nth++) expect((await reply(client, 'free'))[0]).toBe('freed');
  });
});

describe('acknowledgements of Socket.IO', () => {
  it.each(['ask', 'ring'])('a denied message is acknowledged with problem details: %s', async (event) => {
    const adapter: Adapter = 'socket.io';
    const { connectSocketIo } = await start(adapter);
    const socket = await connectSocketIo();
    expect(await socket.emitWithAck(event)).toBe(event === 'ask' ? 'answer' : 'rang');
    expect(await socket.emitWithAck(event, {})).toMatchObject({
      status: 429,
      'violated-policies': [event],
    });
  });
});
