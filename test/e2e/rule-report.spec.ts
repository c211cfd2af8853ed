import { Controller, Get, Injectable, Module, type LoggerService } from '@nestjs/common';
import { NestFactory, SerializedGraph } from '@nestjs/core';
import { describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimitModule, SkipRateLimit } from '../../lib/index.js';

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
const optionsOf = (logger: LoggerService | false): Options =>
  Object.assign(Object.create(null) as Options, { logger, snapshot: true });

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

  it('are guards of their methods in the graph of an application with snapshot: true', async () => {
    const app = await NestFactory.create(AppModule, optionsOf(false));
    await app.init();
    const nodes = Object.values(app.get(SerializedGraph).toJSON().nodes);
    await app.close();
    const ours = nodes.flatMap(({ label, metadata }) =>
      ('enhancers' in metadata ? (metadata.enhancers ?? []) : []).flatMap((each) =>
        'name' in each && each.name.startsWith('RateLimit ') ? [{ label, ...each }] : [],
      ),
    );
    const texts = LINES.map((line) => line.slice(line.indexOf(': ') + 2));
    const at = (label: string, methodKey: string, nth: number) => ({
      label,
      methodKey,
      subtype: 'guard',
      name: `RateLimit ${texts[nth]}`,
    });
    expect(ours).toEqual([
      at('Geocoder', 'find', 3),
      at('OrdersController', 'list', 0),
      at('OrdersController', 'create', 1),
      at('OrdersController', 'create', 2),
    ]);
  });
});
