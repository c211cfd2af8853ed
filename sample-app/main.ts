import type { AddressInfo, Server } from 'node:net';
import { Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Transport, type TcpOptions } from '@nestjs/microservices';
import { RATE_LIMIT_STORE } from 'nestjs-redis-rate-limit';
import { AppModule } from './app.module.js';

const PLACES: Readonly<Record<string, string>> = {
  redis: 'in Redis, with every process that has the same REDIS_URL',
  memory: 'in the memory of this process; set REDIS_URL to count in Redis',
};

const logger = new Logger('SampleApp');

/**
 * Returns the port that a variable of the environment has.
 *
 * @throws RangeError if it is no port
 */
function portIn(variable: string, otherwise: number): number {
  const text = process.env[variable];
  if (!text) return otherwise;
  if (/^\d{1,5}$/.test(text) && Number(text) < 2 ** 16) return Number(text);
  throw new RangeError(
    `${variable}: got "${text}"; allowed: a port from 0 to 65535, such as ${variable}=4000`,
  );
}

async function bootstrap(): Promise<void> {
  const port = portIn('PORT', 3000);
  const portOfMessages = portIn('MESSAGES_PORT', port && port + 1);
  const app = await NestFactory.create(AppModule);
  app.enableShutdownHooks();
  const messages = app.connectMicroservice<TcpOptions>({
    transport: Transport.TCP,
    options: { host: '127.0.0.1', port: portOfMessages },
  });
  await app.startAllMicroservices();
  await app.listen(port);

  const { port: bound } = new URL(await app.getUrl());
  const { source } = app.get<{ readonly source: string }>(RATE_LIMIT_STORE);
  const { port: messagesPort } = messages.unwrap<Server>().address() as AddressInfo;
  logger.log(`Messages: TCP port ${messagesPort}.`);
  logger.log(`http://localhost:${bound}/rate-limits shows the limits at work.`);
  logger.log(`http://localhost:${bound} lists what to try. Counting ${PLACES[source]}.`);
}

bootstrap().catch((error: unknown) => {
  const { code, port } = error as NodeJS.ErrnoException & { readonly port?: number };
  if (error instanceof RangeError) logger.error(error.message);
  else if (code === 'EADDRINUSE') logger.error(`Port ${port} is in use. Choose others: PORT=4000 npm start`);
  else throw error;
  process.exit(1);
});
