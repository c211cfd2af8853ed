import 'reflect-metadata';
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { RateLimit, RateLimitModule } from 'nestjs-redis-rate-limit';

@Controller()
class PagesController {
  @RateLimit('1m', 2)
  @Get('page')
  page() {
    return 'page';
  }

  // Cloudflare reports the address in a header of its own. Requests must not reach the application past it.
  @RateLimit({ window: '1m', limit: 2, by: { ip: 'cf-connecting-ip' } })
  @Get('through-cloudflare')
  throughCloudflare() {
    return 'page';
  }
}

@Module({
  imports: [RateLimitModule.forRoot({ redis: process.env.REDIS_URL })],
  controllers: [PagesController],
})
class AppModule {}

const app = await NestFactory.create<NestExpressApplication>(AppModule, { logger: ['warn', 'error'] });
app.set('trust proxy', 'loopback'); // the addresses of the load balancer, never true
await app.listen(process.env.PORT ?? 3000);
console.log(`Listening on ${await app.getUrl()}`);
