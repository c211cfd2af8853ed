import { setImmediate } from 'node:timers/promises';
import { afterEach, expect, it } from '@jest/globals';
import { RateLimit, RateLimitModule } from '../../lib/index.js';
import { closeApps, startApp } from '../support/nest-app.js';

const RULE = {
  window: '1m',
  limit: 1,
  by: 'everyone',
  plan: () => 'pro',
  plans: { pro: { limit: 2 } },
} as const;

interface Mailer {
  send(): Promise<string>;
}

afterEach(closeApps);

it('an application starts with a class that a factory imports meanwhile, whose rule needs what nothing else does', async () => {
  const mailer = {
    provide: 'MAILER',
    useFactory: async () => {
      await setImmediate();
      class Mails {
        @RateLimit(RULE)
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
});
