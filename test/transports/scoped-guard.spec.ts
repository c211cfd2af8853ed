import { expect, it } from '@jest/globals';
import { Controller, Get, Injectable, Scope, type Type } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { MessagePattern } from '@nestjs/microservices';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { RateLimit, RateLimitGuard, RateLimitModule } from '../../lib/index.js';
import { closeApps, refusalToStart, startApp } from '../support/nest-app.js';

@Injectable({ scope: Scope.REQUEST })
class RequestGuard extends RateLimitGuard {}

@Injectable({ scope: Scope.TRANSIENT })
class TransientGuard extends RateLimitGuard {}

@WebSocketGateway()
class Messages {
  @RateLimit({ window: '1m', limit: 2 })
  @SubscribeMessage('say')
  say(): void {}
}

@WebSocketGateway()
class Connecting {
  @RateLimit({ window: '1m', limit: 2 })
  handleConnection(): void {}
}

@Controller()
class Patterns {
  @RateLimit({ window: '1m', limit: 2 })
  @MessagePattern('say')
  say(): void {}
}

@Controller()
class Routes {
  @RateLimit({ window: '1m', limit: 2 })
  @Get('route')
  route(): void {}
}

const partsOf = (guard: Type, limited: Type) => ({
  imports: [RateLimitModule.forRoot({ registerGuard: false })],
  controllers: limited === Patterns || limited === Routes ? [limited] : [],
  providers: [limited, { provide: APP_GUARD, useClass: guard }],
});

it.each([
  [RequestGuard, Messages],
  [RequestGuard, Connecting],
  [TransientGuard, Patterns],
])(
  'an application whose guard, %p, cannot limit the messages of %p does not start',
  async (guard, limited) => {
    expect(await refusalToStart(partsOf(guard, limited))).toContain(
      `${guard.name}: a guard with the scope REQUEST or TRANSIENT cannot limit gateways and microservices, such as ${limited.name}; use the default scope`,
    );
  },
);

it('a guard for each request limits routes', async () => {
  const { get } = await startApp(partsOf(RequestGuard, Routes), { framework: 'express' });
  const statuses = [];
  for (let sent = 0; sent < 3; sent += 1) statuses.push((await get('/route')).status);
  expect(statuses).toEqual([200, 200, 429]);
  await closeApps();
});
