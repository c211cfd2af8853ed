import { setImmediate } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimitModule, RateLimitService, type RouteRule } from '../../lib/index.js';
import { closeApps, startApp } from '../support/nest-app.js';

const RULE = { name: 'mails', window: '1m', limit: 1, by: 'everyone' } as const;

interface Mailer {
  send(): Promise<string>;
}

afterEach(closeApps);

describe('what a rule needs is loaded', () => {
  it.each<[string, object]>([
    ['a plan', { ...RULE, plan: () => 'pro', plans: { pro: { limit: 2 } } }],
    ['a function', { ...RULE, limit: () => 2 }],
    ['another algorithm', { ...RULE, limit: 2, algorithm: 'fixed-window' }],
  ])(
    'before the application compiles it, also of a class that a factory imports at start: %s',
    async (_title, rule) => {
      const mailer = {
        provide: 'MAILER',
        useFactory: async () => {
          await setImmediate();
          class Mails {
            @RateLimit(rule as RouteRule)
            async send() {
              return 'sent';
            }
          }
          return new Mails();
        },
      };
      const { app } = await startApp(
        { imports: [RateLimitModule.forRoot()], providers: [mailer] },
        { framework: 'express' },
      );
      const mails = app.get<Mailer>('MAILER');
      const sent = await Promise.allSettled([mails.send(), mails.send(), mails.send()]);
      expect(sent.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
    },
  );

  it('before the first operations of a program, which keep their order', async () => {
    for (let turns = 0; turns < 20; turns += 1) {
      const onDemand = { login: { window: '1m', limit: 5, block: 'manual' } } as const;
      const { app, close } = await startApp(
        { imports: [RateLimitModule.forRoot({ onDemand })] },
        { framework: 'express' },
      );
      const limits = app.get(RateLimitService);
      const blocked = limits.block('login', 'ann', '1h');
      for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
      expect([turns, (await limits.consume('login', 'ann')).allowed]).toEqual([turns, false]);
      await blocked;
      await close();
    }
  });
});
