import 'reflect-metadata';
import { Body, Controller, Module, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  RateLimitExceededException,
  RateLimitModule,
  RateLimitService,
  SkipRateLimit,
} from 'nestjs-redis-rate-limit';

/** At most two mails a day for one recipient, where the day begins at midnight in their time zone. */
const perDay = (timeZone: string) =>
  ({ name: `mail ${timeZone}`, window: 'day', limit: 2, algorithm: 'fixed-window', timeZone }) as const;

/** What the provider of the mails allows. */
const provider = { name: 'provider', window: '1s', limit: 14, algorithm: 'gcra' } as const;

@Controller()
class MailController {
  constructor(private readonly limits: RateLimitService) {}

  @SkipRateLimit()
  @Post('mails')
  async send(@Body() { to, timeZone }: { to: string; timeZone: string }) {
    const decision = await this.limits.consume(perDay(timeZone), to.trim().toLowerCase());
    if (!decision.allowed) throw new RateLimitExceededException(decision);
    await this.limits.acquire(provider, 'everyone', { maxWait: '1m' });
    return { sent: to, left: decision.remaining };
  }
}

@Module({
  imports: [RateLimitModule.forRoot({ redis: process.env.REDIS_URL })],
  controllers: [MailController],
})
class AppModule {}

const app = await NestFactory.create(AppModule, { logger: ['warn', 'error'] });
await app.listen(process.env.PORT ?? 3000);
console.log(`Listening on ${await app.getUrl()}`);
