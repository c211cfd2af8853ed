import { Controller, Post, type ExecutionContext } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimitModule, type RateLimitModuleOptions, type RouteRule } from '../../lib/index.js';
import { limitHeaders } from '../support/http-client.js';
import { closeApps, FRAMEWORKS, startApp } from '../support/nest-app.js';
import { virtualStore, VirtualTime } from '../support/virtual-store.js';

const FIXED = { window: '1m', limit: 10, algorithm: 'fixed-window' } as const;

afterEach(closeApps);

describe.each(FRAMEWORKS)('values that functions of rules take from the body, on %s', (framework) => {
  const bodyOf = (context: ExecutionContext) =>
    context.switchToHttp().getRequest<{ body: Readonly<Record<string, never>> }>().body;
  const emailOf = (context: ExecutionContext) => bodyOf(context)['email'];

  /**
   * Starts an application whose only route has this rule. Returns a function that posts a body and returns the status
   * and the remaining permits.
   */
  async function start(rule: Partial<RouteRule>, options: RateLimitModuleOptions = {}) {
    @RateLimit({ ...FIXED, ...rule })
    @Controller()
    class Routes {
      @Post() post() {}
    }
    const metadata = { imports: [RateLimitModule.forRoot(options)], controllers: [Routes] };
    const app = await startApp(metadata, { framework, store: virtualStore('memory', new VirtualTime()) });
    const post = async (body: unknown) => {
      const headers = { 'content-type': 'application/json' };
      const answer = await app.send({ method: 'POST', path: '/', headers, body: JSON.stringify(body) });
      return [answer.status, limitHeaders(answer)['ratelimit']?.replace(/;t=\d+$/, '')];
    };
    const warnings = () =>
      app.logs.lines.filter(({ level }) => level === 'warn').map(({ message }) => message);
    return { post, warnings };
  }

  const left = (permits: number) => [201, `"default";r=${permits}`];
  const denied = [429, '"default";r=0'];
  const unusable: unknown[] = [{}, { a: 1 }, ['a@b.c'], [], true, { toString: 'a@b.c' }, { then: 1 }];

  it('a client that sends an invalid subject is counted by its IP', async () => {
    const { post } = await start({ limit: 3, by: emailOf });
    expect(await post({ email: 'a@b.c' })).toEqual(left(2));
    const statuses = [];
    for (const email of unusable) statuses.push((await post({ email }))[0]);
    expect(statuses).toEqual([201, 201, 201, 429, 429, 429, 429]);
    expect(await post({ email: 'a@b.c' })).toEqual(left(1));
  });

  it('a client that sends an invalid part of a list is counted by its IP', async () => {
    const { post } = await start({ limit: 1, by: ['ip', emailOf] });
    expect([await post({ email: {} }), await post({ email: [1] }), await post({ email: 'a' })]).toEqual([
      left(0),
      denied,
      left(0),
    ]);
  });

  it("onMissingSubject 'skip' still applies the rule to an invalid subject", async () => {
    const { post } = await start({ limit: 1, by: emailOf, onMissingSubject: 'skip' });
    const sent = [await post({ email: {} }), await post({ email: [] }), await post({})];
    expect(sent).toEqual([left(0), denied, [201, undefined]]);
  });

  it("onMissingSubject 'deny' denies an invalid subject", async () => {
    const { post } = await start({ by: emailOf, onMissingSubject: 'deny' });
    expect((await post({ email: {} }))[0]).toBe(429);
  });

  it.each([undefined, 'local', 'allow', 'deny'] as const)(
    'an invalid cost is charged as 1 with onStoreError %s',
    async (onStoreError) => {
      const cost = (context: ExecutionContext) => Math.min(bodyOf(context)['length']!, 500);
      const { post, warnings } = await start({ cost }, { ...(onStoreError && { onStoreError }) });
      expect(await post({})).toEqual(left(9));
      expect(await post({ length: -1 })).toEqual(left(8));
      expect(await post({ length: 'x' })).toEqual(left(7));
      expect(await post({ length: 3 })).toEqual(left(4));
      expect(warnings()).toEqual([
        'rule "default" of Routes.post.cost: got NaN; allowed: an integer from 0 to 1000000000. Such a request takes 1 permit; correct the function. (RL_INVALID_VALUE, see docs/warnings.md)',
      ]);
    },
  );

  it('a fractional cost is rounded up, and a cost above the maximum is denied', async () => {
    const { post } = await start({ cost: (context) => bodyOf(context)['cost']! });
    expect(await post({ cost: 2.1 })).toEqual(left(7));
    expect(await post({ cost: 1e-9 })).toEqual(left(6));
    expect(await post({ cost: 1e300 })).toEqual([429, '"default";r=6']);
    expect(await post({ cost: [] })).toEqual(left(5));
  });

  describe.each(['local', 'deny'] as const)('where onStoreError is %s', (onStoreError) => {
    const limit = (context: ExecutionContext) => bodyOf(context)['limit']!;

    it('the last valid limit and window apply when a function returns an invalid one', async () => {
      const window = (context: ExecutionContext) => bodyOf(context)['window']!;
      const { post } = await start({ limit, window }, { onStoreError });
      expect(await post({ limit: 3, window: '1m' })).toEqual(left(2));
      expect(await post({ limit: {}, window: '1m' })).toEqual(left(1));
      expect(await post({ limit: 100, window: '1x' })).toEqual(left(0));
      expect(await post({ limit: -1, window: '1d' })).toEqual(denied);
    });

    it('the cost of a request is charged under the last valid limit', async () => {
      const { post } = await start({ limit, cost: (context) => bodyOf(context)['cost']! }, { onStoreError });
      expect(await post({ limit: 9, cost: 1 })).toEqual(left(8));
      expect(await post({ cost: 5 })).toEqual(left(3));
    });

    it('an invalid limit gets a 503 until there was a valid one', async () => {
      const { post } = await start({ limit }, { onStoreError });
      expect(await post({})).toEqual([503, undefined]);
      expect(await post({ limit: 5 })).toEqual(left(4));
      expect(await post({})).toEqual(left(3));
    });
  });
});
