import { Controller, Injectable, UseGuards, type CanActivate, type INestMicroservice } from '@nestjs/common';
import {
  ClientProxyFactory,
  EventPattern,
  MessagePattern,
  Payload,
  Transport,
  type ClientProxy,
  type MicroserviceOptions,
} from '@nestjs/microservices';
import { Test } from '@nestjs/testing';
import { lastValueFrom, Observable } from 'rxjs';
import {
  RateLimit,
  RateLimitModule,
  Usage,
  type RateLimitModuleOptions,
  type RuleDecision,
} from '../../lib/index.js';
import { Gate } from '../support/gate.js';
import { LogLines } from '../support/log-lines.js';
import { startApp } from '../support/nest-app.js';
import { freePort } from '../support/redis/free-port.mjs';
import { redisUrl } from '../support/redis/shared-redis.js';

const MINUTE = { window: '1m', algorithm: 'fixed-window' } as const;

@Injectable()
class Never implements CanActivate {
  canActivate() {
    return false;
  }
}

/** Where messages wait, and the events that were handled. */
export const depot = { gate: new Gate(), events: [] as unknown[], closed: 0 };

@Controller()
export class Depot {
  @RateLimit({ ...MINUTE, name: 'sum', limit: 2, by: 'everyone' })
  @MessagePattern('sum')
  sum(@Payload() numbers: number[]) {
    return numbers.reduce((total, each) => total + each, 0);
  }

  @RateLimit({
    ...MINUTE,
    name: 'tenant',
    limit: 1,
    by: (context) => context.switchToRpc().getData<string>(),
  })
  @MessagePattern('tenant')
  tenant(@Payload() tenant: string) {
    return tenant;
  }

  @RateLimit({ ...MINUTE, name: 'login', limit: 1, by: 'everyone', count: 'failures' })
  @MessagePattern('login')
  login(@Payload() password: string) {
    if (password !== 'right') throw new Error('wrong password');
    return 'in';
  }

  @RateLimit({ name: 'slow', limit: 1, algorithm: 'concurrency', by: 'everyone' })
  @MessagePattern('slow')
  async slow() {
    await depot.gate.pass();
    return 'done';
  }

  @RateLimit({ name: 'stream', limit: 1, algorithm: 'concurrency', by: 'everyone' })
  @MessagePattern('stream')
  stream() {
    return new Observable<string>((subscriber) => {
      subscriber.next('first');
      void depot.gate.pass().then(() => subscriber.complete());
    });
  }

  @RateLimit({ name: 'held', limit: 1, algorithm: 'concurrency', by: 'everyone' })
  @RateLimit({ ...MINUTE, name: 'tried', limit: 3, by: 'everyone', count: 'failures' })
  @UseGuards(Never)
  @MessagePattern('closed')
  closed() {
    return 'never';
  }

  @RateLimit({ ...MINUTE, name: 'stored', limit: 2, by: 'everyone' })
  @EventPattern('stored')
  stored(@Payload() parcel: unknown) {
    depot.events.push(parcel);
  }

  @RateLimit({ ...MINUTE, name: 'quota', limit: 4, by: 'everyone' })
  @MessagePattern('quota')
  quota(@Usage() usage: RuleDecision[]) {
    return usage.map(({ rule, remaining }) => ({ rule, remaining }));
  }

  @MessagePattern('free')
  free() {
    return 'free';
  }
}

export const LINKS = ['TCP', 'Redis'] as const;
export type Link = (typeof LINKS)[number];

async function optionsOf(link: Link): Promise<MicroserviceOptions> {
  if (link === 'TCP') {
    return { transport: Transport.TCP, options: { host: '127.0.0.1', port: await freePort() } };
  }
  const { hostname, port } = new URL(redisUrl());
  return { transport: Transport.REDIS, options: { host: hostname, port: Number(port) } };
}

/** Starts a microservice, or an application that is one besides HTTP, and a client of it. */
export async function startMicroservice(
  link: Link,
  limits: RateLimitModuleOptions = {},
  kind: 'alone' | 'hybrid' = 'alone',
) {
  depot.gate = new Gate();
  depot.events.splice(0);
  const options = await optionsOf(link);
  const parts = { imports: [RateLimitModule.forRoot(limits)], controllers: [Depot], providers: [Never] };
  const started = await (kind === 'alone' ? startAlone(parts, options) : startHybrid(parts, options));
  const client = ClientProxyFactory.create(options as never) as unknown as ClientProxy;
  await client.connect();
  const send = (pattern: string, data: unknown = ''): Promise<unknown> =>
    lastValueFrom(client.send<unknown>(pattern, data)).catch((error: unknown) => ({ error }));
  const emit = (pattern: string, data: unknown): Promise<unknown> =>
    lastValueFrom(client.emit(pattern, data), { defaultValue: undefined });
  const close = async () => {
    depot.gate.open();
    await client.close();
    await started.close();
  };
  return { ...started, client, send, emit, close };
}

type Parts = Parameters<typeof Test.createTestingModule>[0];

async function startAlone(parts: Parts, options: MicroserviceOptions) {
  const logs = new LogLines();
  const module = await Test.createTestingModule(parts).setLogger(logs).compile();
  const settings: object = options;
  const app: INestMicroservice = module.createNestMicroservice(settings);
  await app.listen();
  return { app, logs, close: () => app.close() };
}

async function startHybrid(parts: Parts, options: MicroserviceOptions) {
  const started = await startApp(parts, {
    framework: 'express',
    configure: (app) => void app.connectMicroservice<MicroserviceOptions>(options),
  });
  await started.app.startAllMicroservices();
  return started;
}
