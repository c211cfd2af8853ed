import 'reflect-metadata';
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { RateLimitModule } from 'nestjs-redis-rate-limit';

@Controller('reports')
class ReportsController {
  @Get()
  list() {
    return [];
  }
}

@Module({
  imports: [
    RateLimitModule.forRoot({
      redis: process.env.REDIS_URL,
      rules: {
        // 60 a minute for all tenants together. Each has its part, and borrows what the others leave.
        capacity: {
          ...{ window: '1m', limit: 60, algorithm: 'gcra', burst: 12, by: 'x-tenant', scope: 'shared' },
          share: { weights: { gold: 3 }, weight: 1 },
        },
      },
    }),
  ],
  controllers: [ReportsController],
})
class AppModule {}

const app = await NestFactory.create(AppModule, { logger: ['warn', 'error'] });
await app.listen(process.env.PORT ?? 3000);
console.log(`Listening on ${await app.getUrl()}`);
