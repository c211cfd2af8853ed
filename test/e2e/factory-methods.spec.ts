import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimitModule, type RouteRule } from '../../lib/index.js';
import { closeApps, refusalToStart, startApp } from '../support/nest-app.js';

const ONE: RouteRule = { name: 'one', window: '1m', limit: 1, by: 'everyone' };

class Geocoder {
  @RateLimit(ONE)
  async find() {
    return Promise.resolve('found');
  }
}

class Mailer {
  @RateLimit(ONE)
  send(): string {
    return 'sent';
  }
}

afterEach(closeApps);

describe('@RateLimit on a method of a class without decorators that a factory makes', () => {
  it('limits the calls of an asynchronous method', async () => {
    const providers = [{ provide: 'geocoder', useFactory: () => new Geocoder() }];
    const { app } = await startApp(
      { imports: [RateLimitModule.forRoot()], providers },
      { framework: 'express' },
    );
    const geocoder = app.get<Geocoder>('geocoder');
    expect(await geocoder.find()).toBe('found');
    await expect(geocoder.find()).rejects.toThrow('Rule "one" allows 1 per 1 m');
  });

  it('stops the application if the method is synchronous', async () => {
    const providers = [{ provide: 'mailer', useFactory: async () => Promise.resolve(new Mailer()) }];
    expect(await refusalToStart({ imports: [RateLimitModule.forRoot()], providers })).toContain(
      '@RateLimit on Mailer.send: the method is synchronous, and a limit is not; make it async',
    );
  });
});
