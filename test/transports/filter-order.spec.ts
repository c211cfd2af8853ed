import { Catch, Controller, Get, UseFilters, type ExceptionFilter } from '@nestjs/common';
import { ClientProxyFactory, MessagePattern, Transport } from '@nestjs/microservices';
import { afterEach, expect, it } from '@jest/globals';
import { lastValueFrom, throwError, type Observable } from 'rxjs';
import { RateLimit, RateLimitExceededException, RateLimitModule } from '../../lib/index.js';
import { closeApps, startApp } from '../support/nest-app.js';
import { freePort } from '../support/redis/free-port.mjs';

/** An application's filter for denied messages, with its own reply. */
@Catch(RateLimitExceededException)
class DeniedFilter implements ExceptionFilter<RateLimitExceededException> {
  catch({ decision }: RateLimitExceededException): Observable<never> {
    return throwError(() => ({ slow: decision.rule }));
  }
}

@UseFilters(DeniedFilter)
@Controller('messages')
class Messages {
  @RateLimit({ window: '1m', limit: 0, by: 'everyone' })
  @MessagePattern('sum')
  sum() {}
}

@UseFilters(DeniedFilter)
@Controller('mixed')
class Mixed {
  @Get()
  get() {}

  @RateLimit({ window: '1m', limit: 0, by: 'everyone' })
  @MessagePattern('sum')
  sum() {}
}

@Controller('mixed')
class MixedMethod {
  @Get()
  get() {}

  @UseFilters(DeniedFilter)
  @RateLimit({ window: '1m', limit: 0, by: 'everyone' })
  @MessagePattern('sum')
  sum() {}
}

afterEach(closeApps);

it.each([
  ['a controller of messages', Messages],
  ['a controller of messages and routes', Mixed],
  ['a method of messages', MixedMethod],
])(
  'the filter for exactly RateLimitExceededException of %s replies to a denied message',
  async (_title, controller) => {
    const transport = {
      transport: Transport.TCP,
      options: { host: '127.0.0.1', port: await freePort() },
    } as const;
    const { app } = await startApp(
      { imports: [RateLimitModule.forRoot()], controllers: [controller] },
      { framework: 'express', configure: (configured) => void configured.connectMicroservice(transport) },
    );
    await app.startAllMicroservices();
    const client = ClientProxyFactory.create(transport);
    const reply = lastValueFrom(client.send<unknown>('sum', '')).catch((error: unknown) => error);
    expect(await reply).toEqual({ slow: 'default' });
    await client.close();
  },
);
