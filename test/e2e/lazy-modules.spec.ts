import { Controller, Get, Injectable, Module, SetMetadata } from '@nestjs/common';
import { LazyModuleLoader } from '@nestjs/core';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimitModule } from '../../lib/index.js';
import { configMessage } from '../support/config-message.js';
import { closeApps, startApp } from '../support/nest-app.js';

const ONE = { window: '1m', limit: 1 } as const;
const CONSUME = 'RateLimitService.consume() in the method';

@Injectable()
class Mailer {
  @RateLimit(ONE)
  send(): string {
    return 'sent';
  }
}

@Module({ providers: [Mailer] })
class MailModule {}

@Injectable()
class Geocoder {
  @RateLimit({ ...ONE, by: 'everyone' })
  async find(): Promise<string> {
    return 'found';
  }
}

@Module({ providers: [Geocoder], exports: [Geocoder] })
class MapModule {}

@Injectable()
class Consumer {
  @RateLimit(ONE)
  @SetMetadata('RABBIT_HANDLER', {})
  async consume() {}
}

@Module({ providers: [Consumer] })
class QueueModule {}

@Controller('lazy')
class Lazy {
  @RateLimit(ONE)
  @Get()
  get() {}
}

@Module({ controllers: [Lazy] })
class LazyModule {}

afterEach(closeApps);

async function started(limits = [RateLimitModule.forRoot()]) {
  const test = await startApp({ imports: limits }, { framework: 'express' });
  return { ...test, loader: test.app.get(LazyModuleLoader) };
}

describe('a module that is loaded lazily', () => {
  it('is limited where @RateLimit is on an asynchronous method of a provider', async () => {
    const { loader } = await started();
    const geocoder = (await loader.load(() => MapModule)).get(Geocoder);
    expect(await geocoder.find()).toBe('found');
    await expect(geocoder.find()).rejects.toThrow('Rule "default" allows 1 per 1 m');
  });

  it('is refused if @RateLimit is on a synchronous method of a provider', async () => {
    const { loader } = await started();
    await expect(loader.load(() => MailModule)).rejects.toThrow(
      configMessage(
        `@RateLimit on Mailer.send: the method is synchronous, and a limit is not; make it async, or use ${CONSUME}`,
      ),
    );
  });

  it('is limited where a library may call the method', async () => {
    const { loader, logs } = await started();
    const consumer = (await loader.load(() => QueueModule)).get(Consumer);
    const calls = [1, 2].map(() => consumer.consume());
    await calls[0];
    await expect(calls[1]).rejects.toThrow('Rule "default" allows 1 per 1 m');
    expect(logs.ours().filter(({ message }) => message.includes('RL_UNREACHED_METHOD'))).toEqual([]);
  });

  it('is fine if @RateLimit is on routes', async () => {
    const { loader } = await started();
    await expect(loader.load(() => LazyModule)).resolves.toBeDefined();
  });

  it('is refused if it is RateLimitModule itself', async () => {
    const { loader } = await started([]);
    await expect(loader.load(() => RateLimitModule.forRoot({ rules: { default: ONE } }))).rejects.toThrow(
      configMessage(
        'RateLimitModule: loaded lazily, so that no guard limits any route; import it in the root module',
      ),
    );
  });
});
