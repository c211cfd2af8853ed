import 'reflect-metadata';
import { Controller, Get, Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Cron, ScheduleModule } from '@nestjs/schedule';
import { RateLimitModule, RateLimitService } from 'nestjs-redis-rate-limit';

const runs: number[] = [];

@Injectable()
class Reports {
  constructor(private readonly limits: RateLimitService) {}

  /** Each pod comes here every two seconds, and one of them goes on. */
  @Cron('*/2 * * * * *')
  async send() {
    if (!(await this.limits.consume('report is due', 'everyone')).allowed) return;
    // A run that takes longer than usual: the next one is left out, in whichever pod it would be.
    await using permit = await this.limits.hold('report runs', 'everyone');
    if (!permit.allowed) return;
    runs.push(Date.now());
  }
}

@Controller('runs')
class RunsController {
  @Get()
  list() {
    return runs;
  }
}

@Module({
  imports: [
    ScheduleModule.forRoot(),
    RateLimitModule.forRoot({
      redis: process.env.REDIS_URL,
      onDemand: {
        // Shorter than the time between two runs, and longer than the clocks of the pods differ.
        'report is due': {
          ...{ window: '1500ms', limit: 1, algorithm: 'fixed-window', by: 'everyone' },
          onStoreError: 'deny',
        },
        'report runs': {
          algorithm: 'concurrency',
          limit: 1,
          by: 'everyone',
          lease: '30s',
          onStoreError: 'deny',
        },
      },
    }),
  ],
  providers: [Reports],
  controllers: [RunsController],
})
class AppModule {}

const app = await NestFactory.create(AppModule, { logger: ['warn', 'error'] });
await app.listen(process.env.PORT ?? 3000);
console.log(`Listening on ${await app.getUrl()}`);
