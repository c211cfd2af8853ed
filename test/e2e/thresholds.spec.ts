import { Controller, Get } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  RateLimit,
  RateLimitEvents,
  RateLimitModule,
  RateLimitService,
  SubjectDigest,
} from '../../lib/index.js';
import type { ThresholdEvent } from '../../lib/index.js';
import { closeApps, refusalToStart, startApp } from '../support/nest-app.js';

afterEach(closeApps);

describe('a customer whose budget is nearly used up', () => {
  it('is reported before it denies, with a subject that operations accept', async () => {
    @Controller()
    class Llm {
      @RateLimit({ name: 'calls', window: '1m', limit: 5, by: 'api-key', alerts: [0.8, 1] })
      @Get()
      chat() {
        return 'ok';
      }
    }
    const { app, get } = await startApp(
      { imports: [RateLimitModule.forRoot({})], controllers: [Llm] },
      { framework: 'express' },
    );
    const events: ThresholdEvent[] = [];
    app.get(RateLimitEvents).on('threshold', (event) => events.push(event));
    for (let nth = 0; nth < 6; nth += 1) await get('/', { 'x-api-key': 'secret' });
    const subject = expect.any(SubjectDigest) as unknown as SubjectDigest;
    expect(events).toEqual([
      { rule: 'calls', threshold: 0.8, subject, limit: 5, remaining: 1 },
      { rule: 'calls', threshold: 1, subject, limit: 5, remaining: 0 },
    ]);
    const route = { route: [Llm, 'chat'] } as const;
    expect(await app.get(RateLimitService).reset(route, events[0]!.subject)).toBe(true);
  });

  it.each([
    [{ algorithm: 'concurrency', limit: 5 }, 'no such option of concurrency'],
    [{ algorithm: 'gcra', window: '1m', limit: 5, share: {} }, 'got [1]; allowed: none with share'],
    [
      { algorithm: 'gcra', window: '1m', limit: 5, prefetch: { permits: 2 } },
      'got [1]; allowed: none with prefetch',
    ],
  ])('cannot be reported by a rule %j', async (rule, problem) => {
    const rules = { calls: { ...rule, alerts: [1] } } as never;
    expect(await refusalToStart({ imports: [RateLimitModule.forRoot({ rules })] })).toMatch(
      new RegExp(`calls"?\\.alerts: ${problem.replace(/[[\]]/g, '\\$&')}`),
    );
  });

  it.each([[[]], [[0]], [[1.5]], [[0.8, 0.8]], [0.8], [['0.8']]])('is not at %j of it', async (alerts) => {
    const rules = { calls: { window: '1m', limit: 5, alerts } } as never;
    expect(await refusalToStart({ imports: [RateLimitModule.forRoot({ rules })] })).toContain(
      'allowed: a list of 1 to 8 different fractions above 0 and up to 1',
    );
  });
});
