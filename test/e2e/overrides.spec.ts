import { Controller, Get } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimit } from '../../lib/index.js';
import {
  configuredBy,
  fromDotEnv,
  fromFile,
  fromVariables,
  restoreEnvironment,
} from '../support/configured-app.js';
import { closeApps, FRAMEWORKS, startApp } from '../support/nest-app.js';
import { until } from '../support/redis/until.mjs';
import { virtualStore, VirtualTime } from '../support/virtual-store.js';

@Controller()
class Seats {
  @RateLimit({ name: 'seats', algorithm: 'concurrency', limit: 9 })
  @Get()
  get() {}
}

@Controller()
class Jobs {
  @RateLimit({ name: 'jobs', algorithm: 'leaky-bucket', window: '1h', limit: 1 })
  @Get()
  get() {}
}

afterEach(closeApps);
afterEach(restoreEnvironment);

describe.each(FRAMEWORKS)('the configuration on %s', (framework) => {
  const policies = async (metadata: Awaited<ReturnType<typeof configuredBy>>) => {
    const { get } = await startApp(metadata, { framework });
    const policy = async (path: string) => (await get(path)).headers['ratelimit-policy'];
    return [await policy('/login'), await policy('/order')];
  };

  it('overrides as an object take precedence for any field of any rule', async () => {
    const overrides = { login: { limit: 10, window: '2m' }, 'create-order': { algorithm: 'gcra', burst: 4 } };
    expect(await policies(await fromFile(overrides))).toEqual(['"login";q=10;w=120', '"create-order";q=4']);
  });

  it('overrides can give numbers as text', async () => {
    const overrides = { login: { limit: '10', window: '2m' }, 'create-order': { burst: '20' } };
    expect(await policies(await fromFile(overrides))).toEqual([
      '"login";q=10;w=120',
      '"create-order";q=20;w=4',
    ]);
  });

  it('overrides can be variables with names in upper case', async () => {
    const metadata = await fromVariables({
      RATE_LIMIT__LOGIN__LIMIT: '10',
      RATE_LIMIT__LOGIN__WINDOW: '2m',
      RATE_LIMIT__CREATE_ORDER__BURST: '20',
    });
    expect(await policies(metadata)).toEqual(['"login";q=10;w=120', '"create-order";q=20;w=4']);
  });

  it('overrides can come from a .env file', async () => {
    const metadata = await fromDotEnv('RATE_LIMIT__LOGIN__LIMIT=10\nRATE_LIMIT__CREATE_ORDER__LIMIT=2\n');
    expect(await policies(metadata)).toEqual(['"login";q=10;w=60', '"create-order";q=10;w=5']);
  });

  it('a variable takes precedence over the .env file', async () => {
    process.env['RATE_LIMIT__LOGIN__LIMIT'] = '11';
    const metadata = await fromDotEnv('RATE_LIMIT__LOGIN__LIMIT=10\n');
    expect((await policies(metadata))[0]).toBe('"login";q=11;w=60');
  });

  it('overrides can change the subject, the allow list and onMissingSubject', async () => {
    const metadata = await fromVariables({
      RATE_LIMIT__LOGIN__BY: 'user, x-tenant',
      RATE_LIMIT__LOGIN__ON_MISSING_SUBJECT: 'deny',
      RATE_LIMIT__CREATE_ORDER__LIMIT: '0',
      RATE_LIMIT__CREATE_ORDER__ALLOW_LIST: '127.0.0.0/8, ::1',
    });
    const { get } = await startApp(metadata, { framework });
    expect((await get('/login', { 'x-tenant': 't' })).status).toBe(429);
    expect((await get('/order')).status).toBe(200);
  });

  it('overrides can change which requests count', async () => {
    const { get } = await startApp(await fromVariables({ RATE_LIMIT__LOGIN__COUNT: 'failures' }), {
      framework,
    });
    const isFresh = async () =>
      (await get('/login')).headers['ratelimit']?.startsWith('"login";r=2;') ?? false;
    for (let nth = 1; nth <= 5; nth++) await until(isFresh, 'the charge to be given back');
  });

  it('overrides can change the block after a denial', async () => {
    const metadata = await fromVariables({ RATE_LIMIT__LOGIN__LIMIT: '1', RATE_LIMIT__LOGIN__BLOCK: '5m' });
    const { get } = await startApp(metadata, { framework });
    expect((await get('/login')).status).toBe(200);
    expect((await get('/login')).headers['retry-after']).toBe('300');
  });

  it('overrides can set shadow mode and a trial limit', async () => {
    const metadata = await fromFile({
      login: { mode: 'shadow', limit: '0' },
      'create-order': { trial: { limit: 1 } },
    });
    expect(await policies(metadata)).toEqual([undefined, '"create-order";q=10;w=2']);
  });

  it('overrides can turn a rule into a concurrency limit', async () => {
    const metadata = await fromVariables({
      RATE_LIMIT__SEATS__LIMIT: '2',
      RATE_LIMIT__SEATS__LEASE: '90s',
    });
    const { get } = await startApp({ ...metadata, controllers: [Seats] }, { framework });
    const { 'ratelimit-policy': policy, ratelimit } = (await get('/')).headers;
    expect([policy, ratelimit]).toEqual(['"seats";q=2;qu="concurrent-requests"', '"seats";r=1;t=90']);
  });

  it('overrides can turn a rule into a calendar limit', async () => {
    const { get } = await startApp(
      await fromVariables({
        RATE_LIMIT__LOGIN__WINDOW: 'week',
        RATE_LIMIT__LOGIN__TIME_ZONE: 'Europe/Berlin',
        RATE_LIMIT__LOGIN__ANCHOR: '2',
      }),
      { framework, store: virtualStore('memory', new VirtualTime()) },
    );
    const { 'ratelimit-policy': policy, ratelimit } = (await get('/login')).headers;
    // From Tuesday 23:14 in Berlin to the end of the Monday after it.
    expect([policy, ratelimit]).toEqual(['"login";q=3;w=604800', '"login";r=2;t=403200']);
  });

  it('overrides can change the queue and the longest delay', async () => {
    const metadata = await fromVariables({
      RATE_LIMIT__JOBS__QUEUE: '1',
      RATE_LIMIT__JOBS__DELAY_AFTER: '1',
      RATE_LIMIT__JOBS__MAX_WAIT: '1s',
    });
    const { get } = await startApp({ ...metadata, controllers: [Jobs] }, { framework });
    expect((await get('/')).headers['ratelimit-policy']).toBe('"jobs";q=2;w=7200');
    expect((await get('/')).status).toBe(200);
    expect((await get('/')).status).toBe(429);
  });

  it('rules keep all fields that overrides do not state', async () => {
    expect(await policies(await fromFile({}))).toEqual(['"login";q=3;w=60', '"create-order";q=10;w=2']);
    expect(await policies(await configuredBy({}, () => undefined))).toEqual([
      '"login";q=3;w=60',
      '"create-order";q=10;w=2',
    ]);
  });
});
