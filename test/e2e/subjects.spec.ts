import { Controller, Get, type ExecutionContext } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimitEvents, RateLimitModule } from '../../lib/index.js';
import { clientAt, said, startDoor, userAs } from '../support/door-app.js';
import { limitHeaders } from '../support/http-client.js';
import { closeApps, FRAMEWORKS, SETUPS, startApp } from '../support/nest-app.js';
import { virtualStore, VirtualTime } from '../support/virtual-store.js';
import { INSTANCE } from '../support/denial-id.js';

const holder = (key: string) => clientAt('10.0.0.1', { 'X-Api-Key': key });
const tenant = (name: string) => clientAt('10.0.0.1', { 'x-tenant': name });
const pair = (one: string, two: string) => clientAt('10.0.0.1', { 'x-one': one, 'x-two': two });

afterEach(closeApps);

describe.each(SETUPS)('the subject on $framework with $kind', ({ framework, kind }) => {
  const setup = () => ({ framework, store: virtualStore(kind, new VirtualTime()), trustProxy: true });

  it("by: 'user' counts by id, sub, userId or the value itself", async () => {
    const { knock } = await startDoor({ by: 'user' }, setup());
    const users = [{ id: 1 }, { sub: 'b' }, { userId: 'c' }, 'd', { id: '__proto__' }].map(userAs);
    expect(await knock(...users)).toEqual([200, 200, 200, 200, 200]);
    expect(await knock(...users)).toEqual([429, 429, 429, 429, 429]);
  });

  it("by: 'api-key' counts by API key", async () => {
    const { knock } = await startDoor({ by: 'api-key' }, setup());
    expect(await knock(holder('k1'), holder('k2'), holder('k1'))).toEqual([200, 200, 429]);
  });

  it('a header name in any case counts by that header', async () => {
    const { knock } = await startDoor({ by: 'X-Tenant' }, setup());
    expect(await knock(tenant('t1'), tenant('t2'), tenant('t1'))).toEqual([200, 200, 429]);
  });

  it('{ header } counts by a header without a hyphen', async () => {
    const { knock } = await startDoor({ by: { header: 'Tenant' } }, setup());
    const of = (name: string) => clientAt('10.0.0.1', { tenant: name });
    expect(await knock(of('t1'), of('t2'), of('t1'))).toEqual([200, 200, 429]);
  });

  it('a client with an IPv6 network does not get a limit for each of its addresses in a header', async () => {
    const { knock } = await startDoor({ by: { ip: 'CF-Connecting-IP' } }, setup());
    const of = (address: string) => clientAt('10.0.0.1', { 'cf-connecting-ip': address });
    const network = ['2001:db8:1:2::1', '2001:db8:1:2::2', '[2001:db8:1:2::3]:443', ' 2001:DB8:1:2:0::4'].map(
      of,
    );
    expect(await knock(...network, of('2001:db8:1:3::1'))).toEqual([200, 429, 429, 429, 200]);
    expect(await knock(of('::ffff:1.2.3.4'), of('1.2.3.4'), of('1.2.3.5'))).toEqual([200, 429, 200]);
    // No address is no subject: counted by the IP of the connection.
    expect(await knock(of('unknown'), of('1.2.3.4, 5.6.7.8'), clientAt('10.0.0.1'))).toEqual([200, 429, 429]);
  });

  it('an address in a header is a part of a list, with its own prefix', async () => {
    const by = ['x-tenant', { ip: 'true-client-ip' }] as const;
    const { knock } = await startDoor({ by, ipv6Prefix: 48 }, setup());
    const of = (name: string, address: string) =>
      clientAt('10.0.0.1', { 'x-tenant': name, 'true-client-ip': address });
    expect(
      await knock(of('a', '2001:db8:1:2::1'), of('a', '2001:db8:1:9::1'), of('b', '2001:db8:1:2::1')),
    ).toEqual([200, 429, 200]);
  });

  it('one token counts as one client in every notation of the scheme', async () => {
    const { knock } = await startDoor({ by: 'authorization' }, setup());
    const tokens = ['Bearer t', 'bearer t', 'BEARER   t', 'Bearer u'];
    const clients = tokens.map((authorization) => clientAt('10.0.0.1', { authorization }));
    expect(await knock(...clients)).toEqual([200, 429, 429, 200]);
  });

  it("by: 'everyone' counts all requests together", async () => {
    const { knock } = await startDoor({ by: 'everyone' }, setup());
    expect(await knock(clientAt('10.0.0.1'), clientAt('10.0.0.2'))).toEqual([200, 429]);
  });

  it.each([
    ['at once', (context: ExecutionContext) => said(context, 'x-tenant')],
    ['as a promise', async (context: ExecutionContext) => said(context, 'x-tenant')],
  ])('a function counts by the value it returns %s', async (_title, by) => {
    const { knock } = await startDoor({ by }, setup());
    expect(await knock(tenant('t1'), tenant('t2'), tenant('t1'))).toEqual([200, 200, 429]);
  });

  it('a list counts each combination separately, wherever one part ends', async () => {
    const by = ['x-one', async (context: ExecutionContext) => said(context, 'x-two')] as const;
    const { knock } = await startDoor({ by }, setup());
    const pairs = [
      pair('a-b', 'c'),
      pair('a', 'b-c'),
      pair('a-b-c', '-'),
      pair('a|1|b', 'c'),
      pair('a', 'b|1|c'),
    ];
    expect(await knock(...pairs)).toEqual([200, 200, 200, 200, 200]);
    expect(await knock(...pairs)).toEqual([429, 429, 429, 429, 429]);
  });

  it("a request without the rule's subject is counted by its IP by default", async () => {
    const { knock } = await startDoor({ by: 'user' }, setup());
    const nobodies = [clientAt('10.0.0.1'), clientAt('10.0.0.2'), clientAt('10.0.0.1')];
    expect(await knock(...nobodies)).toEqual([200, 200, 429]);
    // A user whose id equals the address has a separate counter.
    expect(await knock(userAs('10.0.0.1'))).toEqual([200]);
  });

  it("onMissingSubject 'skip' allows a request without the subject and does not count it", async () => {
    const { knock } = await startDoor({ by: 'user', onMissingSubject: 'skip' }, setup());
    const nobody = clientAt('10.0.0.1');
    expect(await knock(nobody, nobody, userAs('a'), userAs('a'))).toEqual([200, 200, 200, 429]);
  });

  it("onMissingSubject 'deny' denies a request without the subject", async () => {
    const { knock } = await startDoor({ by: ['user', 'x-tenant'], onMissingSubject: 'deny' }, setup());
    const both = { ...userAs('a'), ...tenant('t') };
    expect(await knock(clientAt('10.0.0.1'), userAs('a'), tenant('t'), both)).toEqual([429, 429, 429, 200]);
  });
});

describe.each(FRAMEWORKS)('a request without subject on %s', (framework) => {
  it("onMissingSubject 'deny' reports the reason and no wait", async () => {
    @Controller()
    class Members {
      @RateLimit({ name: 'member', window: '1m', limit: 5, by: 'user', onMissingSubject: 'deny' })
      @Get()
      get() {}
    }
    const metadata = { imports: [RateLimitModule.forRoot({})], controllers: [Members] };
    const answer = await (await startApp(metadata, { framework })).get('/');
    expect(answer.status).toBe(429);
    expect(limitHeaders(answer)).toEqual({});
    expect(JSON.parse(answer.body)).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      title: 'Quota exceeded',
      status: 429,
      detail: 'Rule "member" counts by something that this request does not have.',
      'violated-policies': ['member'],
      retryAfterMs: null,
      ...INSTANCE,
    });
  });

  it("onMissingSubject 'deny' is reported like any other denial", async () => {
    @Controller()
    class Members {
      @RateLimit({ name: 'member', window: '1m', limit: 5, by: 'user', onMissingSubject: 'deny' })
      @Get()
      get() {}
    }
    const told: string[] = [];
    const metadata = { imports: [RateLimitModule.forRoot()], controllers: [Members] };
    const { app, get } = await startApp(metadata, { framework });
    const events: RateLimitEvents<ExecutionContext> = app.get(RateLimitEvents);
    events.on('decision', ({ decision: { rule }, context }) =>
      told.push(`decision: ${rule} of ${context?.getClass().name}`),
    );
    events.on('decision', ({ decision: { rule } }) => told.push(`denied: ${rule}`), { only: 'denied' });
    expect((await get('/')).status).toBe(429);
    expect(told).toEqual(['decision: member of Members', 'denied: member']);
  });
});
