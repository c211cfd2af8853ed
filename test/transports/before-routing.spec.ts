import { Query, Resolver, Subscription } from '@nestjs/graphql';
import { afterEach, describe, expect, it } from '@jest/globals';
import { limitBeforeRouting, RateLimit } from '../../lib/index.js';
import { until } from '../support/redis/until.mjs';
import { GRAPHQL, startGraphql } from './graphql-app.js';

let calls = 0;

@Resolver()
class Logins {
  @RateLimit('flood')
  @Query(() => String, { nullable: true })
  login() {
    calls += 1;
    return 'in';
  }

  @RateLimit('flood')
  @Subscription(() => String)
  async *ticks() {
    calls += 1;
    yield { ticks: 'tick' };
  }
}

const running = new Set<{ close(): Promise<void> }>();

afterEach(async () => {
  for (const app of running) await app.close();
  running.clear();
});

describe.each(GRAPHQL)('a rule of limitBeforeRouting on fields of GraphQL: $title', (setup) => {
  async function start() {
    calls = 0;
    const onDemand = { flood: { window: '1m', limit: 3, algorithm: 'fixed-window' } } as const;
    const app = await startGraphql(setup, { onDemand }, Logins, (each) => limitBeforeRouting(each, 'flood'));
    running.add(app);
    return app;
  }

  it('charges a request once for its first field, and each further field', async () => {
    const { query } = await start();
    const { headers, errors } = await query('{ a: login b: login c: login d: login e: login }');
    expect(calls).toBe(3);
    expect(errors).toEqual(['TOO_MANY_REQUESTS', 'TOO_MANY_REQUESTS']);
    expect(headers).toMatchObject({ 'ratelimit-policy': '"flood";q=3;w=60', ratelimit: '"flood";r=0;t=60' });
  });

  it('charges each subscription of a connection', async () => {
    const { subscribe, connect } = await start();
    const client = connect();
    for (let nth = 1; nth <= 4; nth += 1) {
      const { state, codes } = subscribe('subscription { ticks }', undefined, client);
      await until(() => state.isClosed, 'the end of the subscription');
      expect(codes()).toEqual(nth <= 3 ? [] : ['TOO_MANY_REQUESTS']);
    }
    expect(calls).toBe(3);
  });
});
