import { Controller, Get, Injectable, Module, type LoggerService } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { describe, expect, it } from '@jest/globals';
import { limitBeforeRouting, RateLimit, RateLimitModule, SkipRateLimit } from '../../lib/index.js';

@Controller('orders')
class OrdersController {
  @Get() list() {}
  @RateLimit('1h', 5, 'gcra', { name: 'create', by: ['user', 'ip'], mode: 'shadow' })
  @Get('create')
  create() {}
  @SkipRateLimit() @Get('health') health() {}
}

@Injectable()
class Geocoder {
  @RateLimit('geocoder') async find() {}
  async other() {}
}

const rules = { default: { window: '1m', limit: () => 9 } } as const;
const onDemand = { geocoder: { window: '1s', limit: 10, by: 'everyone' } } as const;

@Module({
  imports: [RateLimitModule.forRoot({ rules, onDemand })],
  controllers: [OrdersController],
  providers: [Geocoder],
})
class AppModule {}

type Options = NonNullable<Parameters<typeof NestFactory.createApplicationContext>[1]>;

/** The options' type is a class that Nest does not export. */
const optionsOf = (logger: LoggerService): Options =>
  Object.assign(Object.create(null) as Options, { logger });

const LINES = [
  'GET /orders (OrdersController.list): "default" dynamic per 1m, sliding-window-log, by ip',
  'GET /orders/create (OrdersController.create): "default" dynamic per 1m, sliding-window-log, by ip',
  'GET /orders/create (OrdersController.create): "create" 5 per 1h, gcra, by user and ip, not enforced',
  'call find (Geocoder.find): "geocoder" 10 per 1s, sliding-window-log, by everyone, shared',
];

describe('the rules of the routes', () => {
  it('are lines at debug level at start, one for each route and rule', async () => {
    const lines: string[] = [];
    const none = (): void => undefined;
    const logger: LoggerService = {
      log: none,
      warn: none,
      error: none,
      debug: (message: string, context: string) => {
        if (context === 'RateLimit') lines.push(message);
      },
    };
    const app = await NestFactory.createApplicationContext(AppModule, optionsOf(logger));
    await app.close();
    expect(lines.toSorted()).toEqual(LINES.toSorted());
  });

  it('have a line for each rule that is applied before routing, with what it covers', async () => {
    const lines: string[] = [];
    const none = (): void => undefined;
    const debug = (message: string): void => void lines.push(message);
    const app = await NestFactory.create(AppModule, optionsOf({ log: none, warn: none, error: none, debug }));
    limitBeforeRouting(app, 'geocoder', { exclude: ['/health', '/ready'] });
    await app.init();
    await app.close();
    expect(lines).toContain(
      'every HTTP request before routing, except /health, /ready and CORS preflights (limitBeforeRouting): ' +
        '"geocoder" 10 per 1s, sliding-window-log, by everyone, shared',
    );
    expect(lines).toContainEqual(expect.stringContaining('only if CORS exposes them'));
  });
});
