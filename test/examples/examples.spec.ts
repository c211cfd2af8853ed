import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { WebSocket } from 'ws';
import { pathOf, textOf } from '../readme/code-blocks.js';
import { Examples } from './example-app.js';

let examples: Examples;
beforeAll(async () => {
  examples = await Examples.install();
}, 600_000);
afterAll(() => examples?.remove());

const json = (body: unknown): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});

/** Sends requests one after the other, and returns their statuses. */
async function statuses(requests: readonly (readonly [string, RequestInit?])[]): Promise<number[]> {
  const found: number[] = [];
  for (const [url, init] of requests) found.push((await fetch(url, init)).status);
  return found;
}

const times = <Item>(count: number, item: Item): Item[] => Array.from({ length: count }, () => item);

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
      const init = json({ prompt: 'hello', words });
      const answer = await fetch(`${url}/chat`, {
        ...init,
        headers: { 'content-type': 'application/json', 'x-api-key': key },
      });
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
      await show(await examples.start(task));
    },
  );

  it('is there for each task, with a page that has its program', () => {
    const tasks = readdirSync(pathOf('examples')).sort();
    expect(Object.keys(SHOWN).sort()).toEqual(tasks);
    expect(readdirSync(pathOf('docs/tasks')).sort()).toEqual(tasks.map((task) => `${task}.md`));
    for (const task of tasks) {
      expect(textOf(`docs/tasks/${task}.md`)).toContain(textOf(`examples/${task}/main.ts`).trim());
    }
  });
});
