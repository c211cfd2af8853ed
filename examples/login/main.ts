import 'reflect-metadata';
import {
  Body,
  Controller,
  type ExecutionContext,
  HttpCode,
  Module,
  Post,
  UnauthorizedException,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { RateLimit, RateLimitModule } from 'nestjs-redis-rate-limit';

const PASSWORDS = new Map([
  ['ann', 'correct horse'],
  ['bob', 'battery staple'],
]);

/** The account that a login is for, in one spelling. */
function accountOf(context: ExecutionContext): string | undefined {
  const { body } = context.switchToHttp().getRequest<{ body?: { account?: unknown } }>();
  return typeof body?.account === 'string' ? body.account.trim().toLowerCase() : undefined;
}

@Controller()
class LoginController {
  // One address that tries many accounts, and many addresses that try one account. Only failures count.
  @RateLimit({ name: 'address', window: '1m', limit: 20, by: 'ip', count: 'failures' })
  @RateLimit({ name: 'account', window: '15m', limit: 5, by: accountOf, count: 'failures' })
  @Post('login')
  @HttpCode(200)
  login(@Body() { account, password }: { account: string; password: string }) {
    if (PASSWORDS.get(account) !== password) throw new UnauthorizedException();
    return { welcome: account };
  }
}

@Module({
  imports: [RateLimitModule.forRoot({ redis: process.env.REDIS_URL })],
  controllers: [LoginController],
})
class AppModule {}

const app = await NestFactory.create(AppModule, { logger: ['warn', 'error'] });
await app.listen(process.env.PORT ?? 3000);
console.log(`Listening on ${await app.getUrl()}`);
