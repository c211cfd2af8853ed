import type { AddressInfo, Server } from 'node:net';
import { Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Transport, type TcpOptions } from '@nestjs/microservices';
import { RATE_LIMIT_STORE, type BaseStore } from 'nestjs-redis-rate-limit';
import { AppModule } from './app.module.js';

const PLACES: Partial<Record<BaseStore['source'], string>> = {
  redis: 'in Redis, with every process that has the same REDIS_URL',
  memory: 'in the memory of this process; set REDIS_URL to count in Redis',
};

async function bootstrap(): Promise<void> {
  const app = await NestFactory.create(AppModule);
  app.enableShutdownHooks();
  const port = Number(process.env['PORT'] || 3000);
  const messages = app.connectMicroservice<TcpOptions>({
    transport: Transport.TCP,
    options: { host: '127.0.0.1', port: Number(process.env['MESSAGES_PORT'] || (port && port + 1)) },
  });
  await app.startAllMicroservices();
  await app.listen(port);

  const { port: bound } = new URL(await app.getUrl());
  const { source } = app.get<BaseStore>(RATE_LIMIT_STORE);
  const { port: messagesPort } = messages.unwrap<Server>().address() as AddressInfo;
  new Logger('SampleApp').log(`Messages: TCP port ${messagesPort}.`);
  new Logger('SampleApp').log(`http://localhost:${bound}/rate-limits shows the limits at work.`);
  new Logger('SampleApp').log(`http://localhost:${bound} lists what to try. Counting ${PLACES[source]}.`);
}

void bootstrap();
