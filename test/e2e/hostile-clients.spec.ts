import { connect } from 'node:net';
import { Controller, Get, type ExecutionContext } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { RateLimit, RateLimitModule } from '../../lib/index.js';
import { startDoor } from '../support/door-app.js';
import { closeApps, FRAMEWORKS, SETUPS, startApp, type TestApp } from '../support/nest-app.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { virtualStore, VirtualTime } from '../support/virtual-store.js';

/** The bytes that Node accepts in the headers of a request, without those of the other headers. */
const LARGEST = 15_000;

const GARBAGE = [
  'plain',
  'p'.repeat(64),
  'p'.repeat(65),
  'a'.repeat(LARGEST),
  `${'a'.repeat(LARGEST - 1)}b`,
  '\x80',
  '\xff',
  '\xff\xfe\xfd',
  Array.from({ length: 128 }, (_, nth) => String.fromCharCode(0x80 + nth)).join(''),
  '{',
  '}',
  '{}',
  '{plain}',
  'plain}{plain',
  '__proto__',
  'constructor',
  'prototype',
  'hasOwnProperty',
  '"',
  "'",
  '`',
  '\\',
  '\\x00',
  '%',
  '%00',
  '%s%n%d',
  '%70lain',
  'a b',
  'a\tb',
  '*',
  '?',
  '[a-z]',
  '1|plain',
  '#plain',
  'plain:default',
  'plain:default@Door.knock:fixed-window2/60000',
  "' ) redis.call('FLUSHALL') --",
  ']] error("x") --[[',
  '$5*1',
  '0',
  '-1',
  'NaN',
  'null',
  'undefined',
  'everyone',
];

afterEach(closeApps);

describe.each(SETUPS)('garbage on $framework with $kind', ({ framework, kind }) => {
  const setup = () => ({ framework, store: virtualStore(kind, new VirtualTime()) });

  it.each([
    ['in a header', 'x-client'],
    ['in a part of a list', ['x-client', 'ip']],
  ] as const)('%s has its own counter that no other value shares', async (_title, by) => {
    const { get } = await startDoor({ by }, setup());
    for (const expected of [200, 429]) {
      for (const value of GARBAGE) {
        const { status } = await get('/', { 'x-client': value });
        expect({ value, status }).toEqual({ value, status: expected });
      }
    }
  });

  it('lone surrogates, NUL bytes and ten megabytes from a function each have their own counter', async () => {
    const large = 'x'.repeat(10_000_000);
    const subjects = [
      '\ud800',
      '\udfff',
      '\ud800\ud800',
      '\u0000',
      'a\u0000b',
      '\r\n',
      '😀',
      large,
      `${large}y`,
    ];
    const by = (context: ExecutionContext) =>
      subjects[Number(context.switchToHttp().getRequest<{ query: { nth: string } }>().query.nth)];
    const { get } = await startDoor({ by }, setup());
    for (const expected of [200, 429]) {
      for (const nth of subjects.keys()) {
        expect({ nth, status: (await get(`/?nth=${nth}`)).status }).toEqual({ nth, status: expected });
      }
    }
  });

  it('a client cannot consume from the counter of requests without a subject', async () => {
    const { get } = await startDoor({ by: ['x-one', 'x-two'] }, { ...setup(), trustProxy: true });
    expect((await get('/', { 'x-one': 'ip', 'x-two': '10.0.0.1' })).status).toBe(200);
    expect((await get('/', { 'x-forwarded-for': '10.0.0.1' })).status).toBe(200);
  });
});

describe.each(FRAMEWORKS)('a hostile request to %s', (framework) => {
  it('header values are never stored in Redis in plain text', async () => {
    const prefix = uniquePrefix();
    const store = virtualStore('redis', new VirtualTime());
    const secrets = {
      'x-api-key': 'sk-live-0123456789',
      authorization: 'Bearer-abc',
      'proxy-authorization': 'Basic-def',
      cookie: 'sid-xyz',
      'x-auth-token': 'tok-uvw',
      apikey: 'kong-123',
      'x-tenant': 'acme',
    };
    @Controller()
    class Vault {
      @Get() open() {}
    }
    RateLimit({ name: 'by-key', by: 'api-key', window: '1m', limit: 9 })(Vault);
    for (const header of Object.keys(secrets)) {
      RateLimit({ name: `by-${header}`, by: { header }, window: '1m', limit: 9 })(Vault);
    }
    const list = ['ip', 'x-tenant', { header: 'apikey' }] as const;
    RateLimit({ name: 'by-list', by: list, window: '1m', limit: 9 })(Vault);
    const limits = RateLimitModule.forRoot({ prefix });
    const { get } = await startApp({ imports: [limits], controllers: [Vault] }, { framework, store });
    await get('/', secrets);

    const redis = new Redis(redisUrl());
    const keys = await redis.keys(`${prefix}*`);
    redis.disconnect();
    expect(keys.filter((key) => key.includes(':by-'))).toHaveLength(9);
    for (const secret of Object.values(secrets)) expect(keys.join()).not.toContain(secret);
  });

  it('headers named like properties of Object.prototype get a normal decision', async () => {
    const { get } = await startDoor({ by: { header: 'constructor' } }, { framework });
    const odd = { __proto__x: 'x', toString: 'x', hasOwnProperty: 'x', ['__proto__']: 'x' };
    expect((await get('/', odd)).status).toBe(200);
    expect((await get('/', { constructor: 'x' })).status).toBe(200);
    expect((await get('/', { constructor: 'x' })).status).toBe(429);
    expect((await get('/')).status).toBe(429);
  });

  it.each([
    ['NUL bytes', 'x-client: a\0b', 400],
    ['a line feed in the middle', 'x-client: a\n\nb', 400],
    ['a header larger than Node permits', `x-client: ${'a'.repeat(20_000)}`, 431],
  ])('the application keeps running after %s', async (_title, line, status) => {
    const { app, get } = await startDoor({ by: 'x-client' }, { framework });
    const answer = await raw(app, `GET / HTTP/1.1\r\nHost: x\r\n${line}\r\n\r\n`);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect((await get('/')).status).toBe(200);
  });
});

/** Sends unmodified bytes and reads until the server closes the connection. */
function raw(app: TestApp['app'], text: string): Promise<string> {
  const { port } = (app.getHttpServer() as { address(): { port: number } }).address();
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.end(text, 'latin1'));
    let answer = '';
    socket.setEncoding('latin1').on('data', (data) => (answer += String(data)));
    socket.on('end', () => resolve(answer)).on('error', reject);
  });
}
