import { afterEach, describe, expect, it } from '@jest/globals';
import { Controller, Scope, type INestApplication } from '@nestjs/common';
import { ClientProxyFactory, MessagePattern, Transport, type ClientProxy } from '@nestjs/microservices';
import { Test } from '@nestjs/testing';
import { firstValueFrom } from 'rxjs';
import { RateLimit, RateLimitModule } from '../../lib/index.js';
import { freePort } from '../support/redis/free-port.mjs';

/** Nest reads the guards of a request-scoped controller for each request. */
@Controller({ scope: Scope.REQUEST })
class Sums {
  @RateLimit({ name: 'sum', window: '1m', limit: 5 })
  @MessagePattern('sum')
  sum() {
    return 1;
  }
}

const running: INestApplication[] = [];
const clients: ClientProxy[] = [];

afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
  for (const app of running.splice(0)) await app.close();
});

describe('two hybrid applications of one process with the same controller', () => {
  it('each limit its messages by their own options', async () => {
    const first = await hybrid(1);
    const second = await hybrid(3);
    for (const { app } of [first, second]) await app.startAllMicroservices();
    expect(await answers(first.port)).toEqual(['sum', 'denied', 'denied', 'denied']);
    expect(await answers(second.port)).toEqual(['sum', 'sum', 'sum', 'denied']);
  });

  it('have no limit in the one without the module', async () => {
    await hybrid(1);
    const other = await hybrid(undefined);
    await other.app.startAllMicroservices();
    expect(await answers(other.port)).toEqual(['sum', 'sum', 'sum', 'sum']);
  });
});

/** Creates an application whose microservice is not started; with no limit, one without RateLimitModule. */
async function hybrid(limit: number | undefined) {
  const imports = limit === undefined ? [] : [RateLimitModule.forRoot({ overrides: { sum: { limit } } })];
  const module = await Test.createTestingModule({ imports, controllers: [Sums] }).compile();
  const app = module.createNestApplication();
  const port = await freePort();
  app.connectMicroservice({ transport: Transport.TCP, options: { host: '127.0.0.1', port } });
  await app.init();
  running.push(app);
  return { app, port };
}

async function answers(port: number): Promise<string[]> {
  const client = ClientProxyFactory.create({
    transport: Transport.TCP,
    options: { host: '127.0.0.1', port },
  });
  clients.push(client);
  const ask = () => firstValueFrom(client.send<number>('sum', {}));
  const found: string[] = [];
  while (found.length < 4)
    found.push(
      await ask().then(
        () => 'sum',
        () => 'denied',
      ),
    );
  return found;
}
