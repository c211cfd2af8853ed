import 'reflect-metadata';
import { Controller, Get, Headers, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  RateLimit,
  RateLimitExceededException,
  RateLimitModule,
  RateLimitService,
  SkipRateLimit,
} from 'nestjs-redis-rate-limit';

@Controller()
class TranslationController {
  constructor(private readonly limits: RateLimitService) {}

  // A calendar month in the time zone of the contract: everyone starts anew on the first.
  @RateLimit('month')
  @Get('translate')
  translate() {
    return { text: 'Guten Tag' };
  }

  /** What is left, without using any of it. */
  @Get('quota')
  quota(@Headers('x-api-key') key: string) {
    return this.limits.usage(key, ['month']);
  }

  /** The free tier first, and then the credits that the customer has bought. */
  @SkipRateLimit()
  @Get('summary')
  async summary(@Headers('x-api-key') key: string) {
    const free = await this.limits.consume('month', key);
    const decision = free.allowed ? free : await this.limits.consume('credits', key);
    if (!decision.allowed) throw new RateLimitExceededException(free);
    return { text: 'In short.', paidBy: decision.rule };
  }

  @SkipRateLimit()
  @Get('health')
  health() {
    return 'ok';
  }
}

@Module({
  imports: [
    RateLimitModule.forRoot({
      redis: process.env.REDIS_URL,
      onDemand: {
        month: {
          window: 'month',
          limit: 3,
          algorithm: 'fixed-window',
          timeZone: 'Europe/Berlin',
          by: 'api-key',
        },
        credits: { window: '366d', limit: 2, algorithm: 'fixed-window', by: 'api-key' },
      },
    }),
  ],
  controllers: [TranslationController],
})
class AppModule {}

const app = await NestFactory.create(AppModule, { logger: ['warn', 'error'] });
await app.listen(process.env.PORT ?? 3000);
console.log(`Listening on ${await app.getUrl()}`);
