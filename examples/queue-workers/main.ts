import 'reflect-metadata';
import { BullModule, InjectQueue, Processor, WorkerHost } from '@nestjs/bullmq';
import { Body, Controller, Get, Module, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DelayedError, UnrecoverableError, type Job, type Queue } from 'bullmq';
import { RateLimitModule, RateLimitService } from 'nestjs-redis-rate-limit';

interface Mail {
  customer: string;
  /** The attempt that has a reservation. */
  reserved?: number;
}

const sent: string[] = [];

@Processor('mails', { concurrency: 5 })
class MailWorker extends WorkerHost {
  constructor(private readonly limits: RateLimitService) {
    super();
  }

  async process(job: Job<Mail>, token?: string) {
    await this.waitForCustomer(job, token);
    await this.limits.acquire('provider', 'everyone'); // all workers together
    sent.push(job.data.customer);
  }

  /** Each customer is a group: a job that has to wait goes back to the queue, and the worker takes another one. */
  private async waitForCustomer(job: Job<Mail>, token?: string) {
    const { data, attemptsMade } = job;
    if (data.reserved === attemptsMade) return;
    const { allowed, delayMs } = await this.limits.reserve('customer', data.customer, { maxWait: '1h' });
    if (!allowed) throw new UnrecoverableError('The mails of this customer fill the next hour.');
    if (delayMs === 0) return;
    await job.updateData({ ...data, reserved: attemptsMade });
    await job.moveToDelayed(Date.now() + delayMs, token);
    throw new DelayedError();
  }
}

@Controller('mails')
class MailController {
  constructor(@InjectQueue('mails') private readonly queue: Queue<Mail>) {}

  @Post()
  async send(@Body() { customer }: Mail) {
    await this.queue.add('mail', { customer }, { attempts: 3 });
  }

  @Get()
  list() {
    return sent;
  }
}

const { REDIS_URL: url } = process.env;
if (!url) {
  console.log('BullMQ keeps its jobs in Redis: REDIS_URL=redis://localhost:6379 npm start');
  process.exit();
}

@Module({
  imports: [
    BullModule.forRoot({ connection: { url } }),
    BullModule.registerQueue({ name: 'mails' }),
    RateLimitModule.forRoot({
      redis: url,
      onDemand: {
        customer: { window: '1s', limit: 1, algorithm: 'gcra' },
        provider: { window: '1s', limit: 14, algorithm: 'gcra', by: 'everyone' },
      },
    }),
  ],
  providers: [MailWorker],
  controllers: [MailController],
})
class AppModule {}

const app = await NestFactory.create(AppModule, { logger: ['warn', 'error'] });
await app.listen(process.env.PORT ?? 3000);
console.log(`Listening on ${await app.getUrl()}`);
