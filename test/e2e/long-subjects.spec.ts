import { Controller, Get, Injectable, type ExecutionContext, type Provider } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  RateLimit,
  RateLimitEvents,
  RateLimitGuard,
  RateLimitModule,
  RateLimitService,
  SubjectDigest,
  type RateLimitModuleOptions,
} from '../../lib/index.js';
import { MemoryRuleSource } from '../../lib/live.js';
import { type EventSubject, boundedPart } from '../../lib/rules/subject.js';
import { closeApps, SETUPS, startApp } from '../support/nest-app.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { virtualStore, VirtualTime } from '../support/virtual-store.js';

const ANN = `ann.smith@${'example.'.repeat(20)}com`;
const BOB = `bob.smith@${'example.'.repeat(20)}com`;

const queryOf = (context: ExecutionContext) =>
  context.switchToHttp().getRequest<{ query: Readonly<Record<string, string>> }>().query;
const email = (context: ExecutionContext) => queryOf(context)['email'];
const tenant = (context: ExecutionContext) => queryOf(context)['tenant'];

@Controller()
class Routes {
  @RateLimit('login')
  @Get('login')
  login() {}

  @RateLimit('pair')
  @Get('pair')
  pair() {}

  @RateLimit('shared')
  @Get('shared')
  shared() {}

  @RateLimit('key')
  @Get('key')
  key() {}

  @RateLimit('keys')
  @Get('keys')
  keys() {}
}

type Options = RateLimitModuleOptions & { readonly registerGuard?: boolean };

const quota = { window: '1h', limit: 1, algorithm: 'gcra' } as const;
const ON_DEMAND = {
  login: { ...quota, by: email, block: 'manual' },
  pair: { ...quota, by: [tenant, email] },
  key: { ...quota, by: 'api-key', block: 'manual' },
  keys: { ...quota, by: ['x-tenant', { header: 'apikey' }] },
  shared: { ...quota, limit: 8, by: email, share: { weights: { [ANN]: 3 } } },
} as const satisfies RateLimitModuleOptions['onDemand'];

afterEach(closeApps);

describe.each(SETUPS)('long subjects on $framework with $kind', ({ framework, kind }) => {
  async function start(options: Options = {}, providers: Provider[] = []) {
    const limits = RateLimitModule.forRoot({ prefix: uniquePrefix(), onDemand: ON_DEMAND, ...options });
    const setup = { framework, store: virtualStore(kind, new VirtualTime()) };
    const { app, get } = await startApp({ imports: [limits], controllers: [Routes], providers }, setup);
    const denied: EventSubject[] = [];
    app.get(RateLimitEvents).on('decision', ({ subjects }) => denied.push(...subjects), { only: 'denied' });
    const ask = async (path: string, query: Record<string, string>, headers: Record<string, string> = {}) =>
      (await get(`/${path}?${new URLSearchParams(query).toString()}`, headers)).status;
    return { limits: app.get(RateLimitService), ask, denied };
  }

  it('a subject of more than 64 characters has a counter of its own, for the guard and for programs', async () => {
    const { limits, ask } = await start();
    expect([await ask('login', { email: ANN }), await ask('login', { email: ANN })]).toEqual([200, 429]);
    expect(await ask('login', { email: BOB })).toBe(200);
    expect(await limits.consume('login', ANN)).toMatchObject({ allowed: false });
    expect(await limits.consume('pair', ['acme', ANN])).toMatchObject({ allowed: true });
    expect(await ask('pair', { tenant: 'acme', email: ANN })).toBe(429);
    expect(await ask('pair', { tenant: 'acme', email: BOB })).toBe(200);
  });

  it('a subject of more than 64 characters is a digest in events, which operations accept instead of it', async () => {
    const { limits, ask, denied } = await start();
    for (const path of ['login', 'login', 'pair', 'pair']) await ask(path, { tenant: 'acme', email: ANN });
    const [digest, pair] = denied as [SubjectDigest, (string | SubjectDigest)[]];
    expect(digest).toBeInstanceOf(SubjectDigest);
    expect(digest.head).toBe('ann.smit');
    expect(pair).toEqual(['acme', digest]);
    expect(await limits.reset('login', digest)).toBe(true);
    expect(await limits.reset('pair', pair)).toBe(true);
    expect(await ask('login', { email: ANN })).toBe(200);
    expect(await ask('pair', { tenant: 'acme', email: ANN })).toBe(200);
    await limits.block('login', digest, '1h');
    expect(await limits.peek('login', ANN)).toMatchObject({ allowed: false });
  });

  it('the client of an event of a rule by header is blocked and reset by the subject of the event', async () => {
    const { limits, ask, denied } = await start();
    const [secret, other] = [{ 'x-api-key': 'secret' }, { 'x-api-key': 'other' }];
    expect([await ask('key', {}, secret), await ask('key', {}, secret)]).toEqual([200, 429]);
    const [subject] = denied as [SubjectDigest];
    expect(subject).toBeInstanceOf(SubjectDigest);
    expect(JSON.stringify(subject)).not.toContain('secret');
    expect(await limits.reset('key', subject)).toBe(true);
    expect(await ask('key', {}, secret)).toBe(200);
    await limits.reset('key', 'secret');
    await limits.block('key', subject, '1h');
    expect([await ask('key', {}, secret), await ask('key', {}, other)]).toEqual([429, 200]);
    // A client that sends the digest is another client.
    expect(await ask('key', {}, { 'x-api-key': `#${subject.digest}` })).toBe(200);
    expect(await ask('key', {}, { 'x-api-key': subject.digest })).toBe(200);
    expect(await limits.reset('key', subject.digest)).toBe(true); // the counter of that client
    expect(await ask('key', {}, secret)).toBe(429);
  });

  it('an exception is set for the client of an event of a rule by a list of headers', async () => {
    const { limits, ask, denied } = await start({ liveRules: new MemoryRuleSource() });
    const headers = { 'x-tenant': 'acme', apikey: 'secret' };
    expect([await ask('keys', {}, headers), await ask('keys', {}, headers)]).toEqual([200, 429]);
    await limits.rules.setException('keys', denied[0]!, 'allow', { by: 'ops@example.com' });
    expect(await ask('keys', {}, headers)).toBe(200);
    await limits.rules.unsetException('keys', denied[0]!, { by: 'ops@example.com' });
    expect(await ask('keys', {}, headers)).toBe(429);
    await limits.rules.setException('keys', ['acme', 'secret'], 'allow', { by: 'ops@example.com' });
    expect(await ask('keys', {}, headers)).toBe(200);
  });

  it('a client that sends the digest of another subject does not share its counter', async () => {
    const { limits, ask, denied } = await start();
    await ask('login', { email: ANN });
    await ask('login', { email: ANN });
    const [digest] = denied as [SubjectDigest];
    const forged = [
      boundedPart(ANN),
      `#${digest.digest}`,
      digest.digest,
      String(digest),
      JSON.stringify(digest),
    ];
    for (const sent of forged) {
      expect(await ask('login', { email: sent })).toBe(200);
      expect(await limits.consume('login', sent)).toMatchObject({ allowed: false });
    }
    const parsed = JSON.parse(JSON.stringify(digest)) as SubjectDigest;
    await expect(limits.reset('login', parsed)).rejects.toThrow(/subject of rule "login"/);
    await expect(limits.reset({ ...quota, name: 'login' }, parsed)).rejects.toThrow(/subject/);
  });

  it('a weight applies to a subject of more than 64 characters', async () => {
    const { limits } = await start();
    const { share: ofAnn } = await limits.consume('shared', ANN);
    const { share: ofBob } = await limits.consume('shared', BOB);
    expect([ofAnn?.guaranteed, ofBob?.guaranteed]).toEqual([8, 2]);
  });

  it('a subject of more than 64 characters has an exception, set by its text or by the digest of an event', async () => {
    const { limits, ask, denied } = await start({ liveRules: new MemoryRuleSource() });
    await limits.rules.setException('login', BOB, 'allow', { by: 'ops' });
    for (let times = 0; times < 3; times += 1) expect(await ask('login', { email: BOB })).toBe(200);
    await ask('login', { email: ANN });
    expect(await ask('login', { email: ANN })).toBe(429);
    const [digest] = denied as [SubjectDigest];
    await limits.rules.setException('login', digest, 'allow', { by: 'ops' });
    expect(await ask('login', { email: ANN })).toBe(200);
    expect(await limits.rules.get('login', digest)).toMatchObject({ fields: 'allow' });
    const parsed = JSON.parse(JSON.stringify(digest)) as SubjectDigest;
    const made = limits.rules.setException('login', parsed, 'deny', { by: 'ops' });
    await expect(made).rejects.toThrow(/subject of rule "login"/);
    await limits.rules.unsetException('login', digest, { by: 'ops' });
    expect(await ask('login', { email: ANN })).toBe(429);
  });

  it('`subjectOf` of a guard counts a subject of more than 64 characters as operations do', async () => {
    @Injectable()
    class ByEmail extends RateLimitGuard {
      protected override subjectOf(context: ExecutionContext) {
        return email(context);
      }
    }
    const guard = [ByEmail, { provide: APP_GUARD, useExisting: ByEmail }];
    const onDemand = { ...ON_DEMAND, login: { ...quota, by: 'user' } } as const;
    const { limits, ask, denied } = await start({ onDemand, registerGuard: false }, guard);
    expect([await ask('login', { email: ANN }), await ask('login', { email: ANN })]).toEqual([200, 429]);
    expect(await limits.reset('login', denied[0]!)).toBe(true);
    expect([await ask('login', { email: ANN }), await ask('login', { email: ANN })]).toEqual([200, 429]);
    expect(await limits.reset('login', ANN)).toBe(true);
    expect(await ask('login', { email: ANN })).toBe(200);
  });
});
