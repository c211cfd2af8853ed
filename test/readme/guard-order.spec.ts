import {
  Controller,
  Get,
  Injectable,
  Module,
  UseGuards,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimitGuard, RateLimitModule } from '../../lib/index.js';
import { closeApps, startApp } from '../support/nest-app.js';

@Injectable()
class AuthGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    context.switchToHttp().getRequest().user = { id: 'ada' };
    return true;
  }
}

const auth = { provide: APP_GUARD, useClass: AuthGuard };

@Module({ providers: [auth] })
class AuthModule {}

@RateLimit({ window: '1m', limit: 1, by: 'user', onMissingSubject: 'deny' })
@Controller()
class Plain {
  @Get()
  get(): void {}
}

@UseGuards(AuthGuard, RateLimitGuard)
class Guarded extends Plain {}
Controller()(Guarded);

const limits = RateLimitModule.forRoot({});
const unregistered = RateLimitModule.forRoot({ registerGuard: false });

afterEach(closeApps);

// The order of the guards in the README limits users; in the other order, no request has a user.
describe('a rule by user', () => {
  it.each([
    [200, 'in the root module', { imports: [limits], providers: [auth], controllers: [Plain] }],
    [200, 'in a module before RateLimitModule', { imports: [AuthModule, limits], controllers: [Plain] }],
    [429, 'in a module after RateLimitModule', { imports: [limits, AuthModule], controllers: [Plain] }],
    [429, 'in @UseGuards, behind the global guard', { imports: [limits], controllers: [Guarded] }],
    [200, 'in @UseGuards, registerGuard: false', { imports: [unregistered], controllers: [Guarded] }],
  ])(
    'a rule by user responds with %i after a guard that knows the user %s',
    async (status, _place, metadata) => {
      const { get } = await startApp(metadata, { framework: 'express' });
      expect((await get('/')).status).toBe(status);
    },
  );
});
