import 'reflect-metadata';
import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Injectable,
  Module,
  UnauthorizedException,
} from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import { RateLimitModule } from 'nestjs-redis-rate-limit';

const CUSTOMERS = new Map([
  ['key-free', { id: 'free-1', plan: 'free' }],
  ['key-pro', { id: 'pro-1', plan: 'pro' }],
]);

interface ApiRequest {
  headers: Record<string, string | undefined>;
  user?: { id: string; plan: string };
}

/** Knows the customer before the limiter counts it: an unknown key never gets a counter. */
@Injectable()
class ApiKeyGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<ApiRequest>();
    request.user = CUSTOMERS.get(request.headers['x-api-key'] ?? '');
    if (!request.user) throw new UnauthorizedException('unknown key');
    return true;
  }
}

const limitOf = (context: ExecutionContext) =>
  context.switchToHttp().getRequest<ApiRequest>().user?.plan === 'pro' ? 10 : 3;

@Controller('cities')
class CitiesController {
  @Get()
  list() {
    return ['Bern', 'Rome'];
  }
}

@Module({
  imports: [
    RateLimitModule.forRoot({
      redis: process.env.REDIS_URL,
      rules: { plan: { window: '1m', limit: limitOf, by: 'user', scope: 'shared' } },
    }),
  ],
  controllers: [CitiesController],
  providers: [{ provide: APP_GUARD, useClass: ApiKeyGuard }], // in the root module: it runs before the limiter
})
class AppModule {}

const app = await NestFactory.create(AppModule, { logger: ['warn', 'error'] });
await app.listen(process.env.PORT ?? 3000);
console.log(`Listening on ${await app.getUrl()}`);
