import { Controller, Get, Injectable, UseGuards, type INestApplication, type Type } from '@nestjs/common';
import { APP_GUARD, ModuleRef } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimitGuard, RateLimitModule } from '../../lib/index.js';
import { closeApps, refusalToStart } from '../support/nest-app.js';
import { LogLines } from '../support/log-lines.js';

@Injectable()
class TrackerGuard extends RateLimitGuard {
  protected getTracker(request: { ip: string }) {
    return request.ip;
  }
}

/** With a class field, which does not exist in the constructor of the base class. */
@Injectable()
class FieldGuard extends RateLimitGuard {
  protected throwThrottlingException = () => {
    throw new Error('slow down');
  };
}

const limits = RateLimitModule.forRoot({
  rules: { default: { window: '1m', limit: 1 } },
  registerGuard: false,
});

const TRACKER = [
  'TrackerGuard.getTracker: got a hook of @nestjs/throttler, which is never called here; ' +
    'write `subjectOf(context, rule)`, or the field `by` of a rule',
];
const THROWN = [
  'FieldGuard.throwThrottlingException: got a hook of @nestjs/throttler, which is never called here; ' +
    'write `deny(context, decision)`, or the option `body`',
];

function routes(guard?: Type<RateLimitGuard>): Type {
  @Controller()
  class Routes {
    @Get() get() {}
  }
  if (guard) UseGuards(guard)(Routes);
  return Routes;
}

let app: INestApplication | undefined;

afterEach(async () => {
  await closeApps();
  await app?.close();
  app = undefined;
});

describe('a guard with hooks of throttler', () => {
  it.each([
    { guard: TrackerGuard, lines: TRACKER, what: 'a method' },
    { guard: FieldGuard, lines: THROWN, what: 'a class field' },
  ])('stops the application at start and names our hook: $what', async ({ guard, lines }) => {
    const asAppGuard = { provide: APP_GUARD, useClass: guard };
    const messages = await Promise.all([
      refusalToStart({ imports: [limits], controllers: [routes()], providers: [asAppGuard] }),
      refusalToStart({ imports: [limits], controllers: [routes(guard)] }),
    ]);
    for (const message of messages) for (const line of lines) expect(message).toContain(line);
  });

  it.each([
    { guard: TrackerGuard, lines: TRACKER },
    { guard: FieldGuard, lines: THROWN },
  ])(
    'answers 500 to every request if the application creates it, and logs our hook',
    async ({ guard, lines }) => {
      const logs = new LogLines();
      const module = await Test.createTestingModule({ imports: [limits], controllers: [routes()] })
        .setLogger(logs)
        .compile();
      app = module.createNestApplication();
      app.useGlobalGuards(await module.get(ModuleRef).create<RateLimitGuard>(guard));
      await app.listen(0, '127.0.0.1');
      for (let request = 0; request < 2; request += 1) {
        expect((await fetch(await app.getUrl())).status).toBe(500);
      }
      for (const line of lines) expect(JSON.stringify(logs.lines)).toContain(line);
    },
  );
});
