import { Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { RATE_LIMIT_STORE, type BaseStore } from 'nestjs-redis-rate-limit';
import { AppModule } from './app.module.js';

const PLACES: Partial<Record<BaseStore['source'], string>> = {
  redis: 'in Redis, with every process that has the same REDIS_URL',
  memory: 'in the memory of this process; set REDIS_URL to count in Redis',
};

async function bootstrap(): Promise<void> {
  const app = await NestFactory.create(AppModule);
  app.enableShutdownHooks();
  const port = process.env['PORT'] || 3000;
  await app.listen(port);

  const { port: bound } = new URL(await app.getUrl());
  const { source } = app.get<BaseStore>(RATE_LIMIT_STORE);
  new Logger('SampleApp').log(`http://localhost:${bound} lists what to try. Counting ${PLACES[source]}.`);
}

void bootstrap();
