import 'reflect-metadata';
import { Body, Controller, HttpCode, Module, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { RateLimitModule, RateLimitService } from 'nestjs-redis-rate-limit';

@Controller('events')
class EventsController {
  constructor(private readonly limits: RateLimitService) {}

  /** Schedules one delivery to a customer: at most two a second each, and none more than a minute away. */
  @Post()
  @HttpCode(202)
  async publish(@Body() { url }: { url: string }) {
    const { host } = new URL(url);
    const reservation = await this.limits.reserve('webhooks', host, { maxWait: '1m' });
    if (!reservation.allowed) return { host, dropped: true };
    setTimeout(() => void this.deliver(url, host), reservation.delayMs);
    return { host, delayMs: reservation.delayMs };
  }

  private async deliver(url: string, host: string): Promise<void> {
    const response = await fetch(url, { method: 'POST' }).catch(() => undefined);
    const seconds = Number(response?.headers.get('retry-after'));
    // What the receiver asks for applies to all processes.
    if (response?.status === 429 && seconds > 0) await this.limits.block('webhooks', host, `${seconds}s`);
  }
}

@Module({
  imports: [
    RateLimitModule.forRoot({
      redis: process.env.REDIS_URL,
      onDemand: { webhooks: { window: '1s', limit: 2, algorithm: 'gcra', burst: 1, by: 'x-host' } },
    }),
  ],
  controllers: [EventsController],
})
class AppModule {}

const app = await NestFactory.create(AppModule, { logger: ['warn', 'error'] });
await app.listen(process.env.PORT ?? 3000);
console.log(`Listening on ${await app.getUrl()}`);
