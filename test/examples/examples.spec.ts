import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { WebSocket } from 'ws';
import { pathOf, textOf } from '../readme/code-blocks.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { until } from '../support/redis/until.mjs';
import { Examples } from './example-app.js';

let examples: Examples;
let redis: RedisServer;
beforeAll(async () => {
  [examples, redis] = await Promise.all([Examples.install(), startRedisServer()]);
}, 600_000);
afterAll(async () => {
  examples?.remove();
  await redis?.stop();
});

const json = (body: unknown, headers: Readonly<Record<string, string>> = {}): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(body),
});

/** Sends requests one after the other, and returns their statuses. */
async function statuses(requests: readonly (readonly [string, RequestInit?])[]): Promise<number[]> {
  const found: number[] = [];
  for (const [url, init] of requests) found.push((await fetch(url, init)).status);
  return found;
}

const read = async <Value>(url: string): Promise<Value> => (await (await fetch(url)).json()) as Value;

const times = <Item>(count: number, item: Item): Item[] => Array.from({ length: count }, () => item);

/** The examples of libraries that work only with Redis. */
const ON_REDIS: readonly string[] = ['queue-workers'];

/** What each example shows. */
const SHOWN: Readonly<Record<string, (url: string) => Promise<void>>> = {
  async login(url) {
    const login = (account: string, password: string) =>
      [`${url}/login`, json({ account, password })] as const;
    expect(await statuses(times(6, login('ann', 'guess')))).toEqual([401, 401, 401, 401, 401, 429]);
    expect(await statuses([login(' ANN ', 'guess'), login('bob', 'battery staple')])).toEqual([429, 200]);
  },
  async 'public-api'(url) {
    const list = (key: string) => [`${url}/cities`, { headers: { 'x-api-key': key } }] as const;
    expect(await statuses(times(4, list('key-free')))).toEqual([200, 200, 200, 429]);
    expect(await statuses(times(11, list('key-pro')))).toEqual([...times(10, 200), 429]);
    expect(await statuses([list('unknown')])).toEqual([401]);
  },
  async 'webhooks-out'(url) {
    const publish = async () =>
      (await (await fetch(`${url}/events`, json({ url: 'http://127.0.0.1:9/' }))).json()) as {
        delayMs: number;
      };
    const [first, second] = [await publish(), await publish()];
    expect(first.delayMs).toBe(0);
    expect(second.delayMs).toBeGreaterThan(0);
    expect(second.delayMs).toBeLessThanOrEqual(500);
  },
  async tenants(url) {
    const list = (tenant: string) => [`${url}/reports`, { headers: { 'x-tenant': tenant } }] as const;
    expect(await statuses([list('small'), list('gold')])).toEqual([200, 200]);
    expect(await statuses(times(30, list('small')))).toContain(429);
    expect(await statuses([list('gold')])).toEqual([200]);
  },
  async 'free-tier'(url) {
    const init = { headers: { 'x-api-key': 'key' } };
    expect(await statuses(times(4, [`${url}/translate`, init] as const))).toEqual([200, 200, 200, 429]);
    const { headers } = await fetch(`${url}/translate`, init);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await statuses([[`${url}/health`]])).toEqual([200]);
    expect(await (await fetch(`${url}/quota`, init)).json()).toMatchObject([{ rule: 'month', remaining: 0 }]);
    const summary = async () => {
      const answer = await fetch(`${url}/summary`, { headers: { 'x-api-key': 'other' } });
      return [answer.status, ((await answer.json()) as { paidBy?: string }).paidBy];
    };
    for (const paidBy of ['month', 'month', 'month', 'credits', 'credits'])
      expect(await summary()).toEqual([200, paidBy]);
    expect((await summary())[0]).toBe(429);
  },
  async 'llm-gateway'(url) {
    const chat = async (key: string, words: number): Promise<readonly [number, number]> => {
      const answer = await fetch(`${url}/chat`, json({ prompt: 'hello', words }, { 'x-api-key': key }));
      return [answer.status, (await answer.text()).split('word ').length - 1];
    };
    expect(await chat('ann', 5)).toEqual([201, 5]);
    expect((await chat('ann', 1_500))[0]).toBe(201);
    expect(await chat('ann', 5)).toEqual([429, 0]); // the overrun is a debt
    expect(await chat('bob', 5)).toEqual([201, 5]);
  },
  async mail(url) {
    const mail = (to: string) => [`${url}/mails`, json({ to, timeZone: 'Europe/Berlin' })] as const;
    expect(
      await statuses([mail('ann@example.com'), mail(' Ann@example.com'), mail('ann@example.com')]),
    ).toEqual([201, 201, 429]);
    expect(await statuses([mail('bob@example.com')])).toEqual([201]);
  },
  async 'behind-a-proxy'(url) {
    const from = (path: string, name: string, value: string) =>
      [`${url}/${path}`, { headers: { [name]: value } }] as const;
    const forged = [1, 2, 3].map((nth) => from('page', 'x-forwarded-for', `6.6.6.${nth}, 203.0.113.7`));
    expect(await statuses(forged)).toEqual([200, 200, 429]);
    expect(await statuses([from('page', 'x-forwarded-for', '203.0.113.8')])).toEqual([200]);
    const through = from('through-cloudflare', 'cf-connecting-ip', '203.0.113.7');
    expect(await statuses(times(3, through))).toEqual([200, 200, 429]);
  },
  async 'queue-workers'(url) {
    const mail = (customer: string) => [`${url}/mails`, json({ customer })] as const;
    expect(await statuses([...times(3, mail('ann')), mail('bob')])).toEqual([201, 201, 201, 201]);
    await until(async () => (await read<string[]>(`${url}/mails`)).length === 4, 'all mails to be sent');
    const sent = await read<string[]>(`${url}/mails`);
    expect(sent.indexOf('bob')).toBeLessThan(sent.lastIndexOf('ann')); // Bob's mail does not wait for Ann's.
  },
  async 'graphql-complexity'(url) {
    const ask = async (query: string) => {
      const body = (await (await fetch(`${url}/graphql`, json({ query }))).json()) as {
        readonly errors?: readonly { readonly extensions: Readonly<Record<string, unknown>> }[];
      };
      return body.errors?.[0]?.extensions;
    };
    const books =
      'query { authors(first: 10) { ...all } } fragment all on Author { name books(first: 3) { title } }';
    expect(await ask('{ authors(first: 100) { name } }')).toMatchObject({
      code: 'TOO_MANY_REQUESTS',
      retryAfterMs: null,
    });
    expect(await ask(books)).toBeUndefined(); // 51 points
    expect(await ask(books)).toMatchObject({ code: 'TOO_MANY_REQUESTS', retryAfterMs: expect.any(Number) });
    expect(await ask('{ authors(first: 5) { name } }')).toBeUndefined(); // 6 points
  },
  async 'scheduled-jobs'(url) {
    await until(async () => (await read<number[]>(`${url}/runs`)).length > 1, 'two runs of the job');
  },
  async bandwidth(url) {
    const download = async (kilobytes: number) => {
      const answer = await fetch(`${url}/files/${kilobytes}`);
      return [answer.status, (await answer.arrayBuffer()).byteLength];
    };
    expect(await download(300)).toEqual([200, 300_000]);
    const { headers } = await fetch(`${url}/files/1`);
    expect(headers.get('ratelimit-policy')).toBe('"bytes";q=1000000;qu="content-bytes";w=60');
    expect(await download(900)).toEqual([200, 900_000]);
    expect((await download(1))[0]).toBe(429); // The overrun is a debt.
  },
  async 'mcp-tools'(url) {
    const call = async () =>
      (await (
        await fetch(`${url}/mcp`, json({ id: 1, method: 'tools/call', params: { name: 'search' } }))
      ).json()) as object;
    expect([await call(), await call()]).toMatchObject(times(2, { result: {} }));
    expect(await call()).toMatchObject({
      id: 1,
      error: { code: -32029, data: { retryAfterMs: expect.any(Number) } },
    });
  },
  async 'websocket-chat'(url) {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/chat`);
    const events: string[] = [];
    const closed = new Promise<void>((resolve) =>
      socket.on('message', (text) => {
        events.push((JSON.parse(String(text)) as { event: string }).event);
        if (events.length === 4) resolve();
      }),
    );
    socket.on('open', () =>
      times(4, JSON.stringify({ event: 'say', data: 'hi' })).forEach((text) => socket.send(text)),
    );
    await closed;
    socket.close();
    expect(events.sort()).toEqual(['exception', 'said', 'said', 'said']); // A denial may overtake.
  },
};

describe('an example', () => {
  it.each(Object.entries(SHOWN))(
    '%s runs with npm start, and limits as its page says',
    async (task, show) => {
      examples.output = '';
      await show(await examples.start(task, ON_REDIS.includes(task) ? { REDIS_URL: redis.url } : {}));
      const codes = examples.output.match(/(?<=\()RL_\w+/g) ?? [];
      // A busy machine may reply late.
      for (const code of codes.filter((each) => !each.startsWith('RL_REDIS_')))
        expect(textOf(`docs/tasks/${task}.md`)).toContain(code);
    },
  );

  it('says in one line that its library needs a Redis', async () => {
    await expect(examples.start('queue-workers')).rejects.toThrow(
      'BullMQ keeps its jobs in Redis: REDIS_URL=',
    );
  });

  it('runs each scheduled job in one of several processes that have one Redis', async () => {
    const pods = await Promise.all(
      times(3, 'scheduled-jobs').map((task) => examples.start(task, { REDIS_URL: redis.url })),
    );
    const runs = async () => (await Promise.all(pods.map((url) => read<number[]>(`${url}/runs`)))).flat();
    await until(async () => (await runs()).length > 2, 'three runs of the job');
    const ticks = (await runs()).map((at) => Math.round(at / 2_000));
    expect(new Set(ticks).size).toBe(ticks.length);
  });

  it('is there for each task, with a page that has its program', () => {
    const tasks = readdirSync(pathOf('examples')).sort();
    expect(Object.keys(SHOWN).sort()).toEqual(tasks);
    expect(readdirSync(pathOf('docs/tasks')).sort()).toEqual(tasks.map((task) => `${task}.md`));
    for (const task of tasks) {
      expect(textOf('docs/is-it-for-you.md')).toContain(`](tasks/${task}.md)`);
      expect(textOf(`docs/tasks/${task}.md`)).toContain(textOf(`examples/${task}/main.ts`).trim());
    }
  });
});
