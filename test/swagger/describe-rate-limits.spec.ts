import { Controller, Get, HttpException, Post, UseGuards, type INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { ApiOperation, ApiResponse, DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { Validator } from '@seriousme/openapi-schema-validator';
import { afterEach, describe, expect, it } from '@jest/globals';
import openapiTS, { astToString } from 'openapi-typescript';
import {
  RateLimit,
  RateLimitGuard,
  RateLimitModule,
  RateLimitService,
  SkipRateLimit,
  type RateLimitModuleOptions,
} from '../../lib/index.js';
import { MemoryRuleSource } from '../../lib/live.js';
import { describeRateLimits } from '../../lib/swagger.js';

@Controller('orders')
class OrdersController {
  @RateLimit({ limit: 5, by: 'user' })
  @RateLimit({ name: 'burst', window: '1s', limit: 2, algorithm: 'token-bucket', burst: 4 })
  @Post()
  create() {}

  @ApiOperation({ operationId: 'listOrders' })
  @ApiResponse({ status: 429, description: 'Slow down.' })
  @RateLimit({ limit: () => 3, by: [(): string => 'ann', { header: 'apikey' }] })
  @Get(':id')
  get(): void {
    throw new HttpException('gone', 410);
  }

  @SkipRateLimit()
  @Get()
  list() {}
}

const rules = {
  default: { window: '1m', limit: 100 },
  trial: { window: '1m', limit: 1, mode: 'shadow' },
} as const;

interface Described {
  'x-rate-limit'?: object;
  responses: Record<string, { headers?: object; content?: object; description?: string }>;
}

type Operation = Record<string, Described>;

let app: INestApplication | undefined;

afterEach(() => app?.close());

async function start(options: RateLimitModuleOptions): Promise<INestApplication> {
  const module = await Test.createTestingModule({
    imports: [RateLimitModule.forRoot({ rules, ...options })],
    controllers: [OrdersController],
  }).compile();
  app = module.createNestApplication();
  app.useLogger(false);
  app.setGlobalPrefix('api');
  return app;
}

async function documentOf(options: RateLimitModuleOptions = {}, version = '3.0.0') {
  const started = await start(options);
  await started.init();
  const config = new DocumentBuilder().setTitle('Orders').setOpenAPIVersion(version).build();
  return describeRateLimits(started, SwaggerModule.createDocument(started, config));
}

describe('describeRateLimits', () => {
  it('describes the effective rules of each operation, and none where rules are skipped', async () => {
    const { paths } = await documentOf();
    const of = (path: string, method: string) => (paths[path] as unknown as Operation)[method]!;
    expect(of('/api/orders', 'post')['x-rate-limit']).toEqual([
      {
        name: 'default',
        limit: 5,
        window: '1m',
        algorithm: 'sliding-window-log',
        by: 'user',
        scope: 'route',
      },
      {
        name: 'burst',
        limit: 2,
        window: '1s',
        algorithm: 'token-bucket',
        by: 'ip',
        scope: 'route',
        burst: 4,
      },
    ]);
    expect(of('/api/orders/{id}', 'get')['x-rate-limit']).toMatchObject([
      { name: 'default', limit: 'dynamic', by: ['custom', 'apikey'] },
    ]);
    expect(of('/api/orders', 'get')).not.toHaveProperty('x-rate-limit');
    expect(of('/api/orders', 'get').responses).not.toHaveProperty('429');
    expect(JSON.stringify(paths)).not.toContain('x-rate-limit-handler');
  });

  it('adds the 429 with headers and schema, and keeps the description of the application', async () => {
    const { paths, components } = await documentOf();
    const post = (paths['/api/orders'] as unknown as Operation)['post']!;
    expect(post.responses['429']).toMatchObject({
      description: 'Too many requests: denied by the rate limit "default", "burst".',
      headers: { 'Retry-After': {}, RateLimit: {}, 'RateLimit-Policy': {} },
      content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/RateLimitProblem' } } },
    });
    expect(post.responses['201']!.headers).toHaveProperty('RateLimit');
    expect((paths['/api/orders/{id}'] as unknown as Operation)['get']!.responses['429']!.description).toBe(
      'Slow down.',
    );
    expect(components!.schemas).toHaveProperty('RateLimitProblem');
  });

  it("adds a 503 with onStoreError: 'deny', and follows the options headers and body", async () => {
    const { paths } = await documentOf({ onStoreError: 'deny', headers: 'legacy', body: 'nest' });
    const { responses } = (paths['/api/orders'] as unknown as Operation)['post']!;
    expect(Object.keys(responses)).toEqual(expect.arrayContaining(['201', '429', '503']));
    expect(responses['429']!.headers).toHaveProperty('X-RateLimit-Reset');
    expect(responses['503']!.content).toHaveProperty('application/json');
  });

  it.each(['3.0.0', '3.1.0'])(
    'the document is valid OpenAPI %s, and openapi-typescript generates types from it',
    async (version) => {
      const document = JSON.parse(JSON.stringify(await documentOf({ onStoreError: 'deny' }, version)));
      expect(await new Validator().validate(document)).toEqual({ valid: true });
      const types = astToString(await openapiTS(document));
      expect(types).toContain('RateLimitProblem: {');
      expect(types).toContain('retryAfterMs: number | null');
    },
  );

  it('throws before the application is initialized, and names both ways to call it', async () => {
    const early = await start({});
    const document = SwaggerModule.createDocument(early, {} as never);
    expect(() => describeRateLimits(early, document)).toThrow(
      /not initialized.*document factory.*app\.init\(\)/,
    );
  });
});

describe('the OpenAPI document of an application with registerGuard: false', () => {
  it('has the limits of handlers with the guard, and of no others', async () => {
    @Controller()
    class Routes {
      @UseGuards(RateLimitGuard)
      @Get('guarded')
      guarded() {}

      @Get('open')
      open() {}
    }
    const limits = RateLimitModule.forRoot({ rules, registerGuard: false });
    const module = await Test.createTestingModule({ imports: [limits], controllers: [Routes] }).compile();
    app = module.createNestApplication();
    app.useLogger(false);
    await app.init();
    const config = new DocumentBuilder().build();
    const { paths } = describeRateLimits(app, SwaggerModule.createDocument(app, config));
    expect(paths['/guarded']!.get!.responses).toHaveProperty('429');
    expect(paths['/open']!.get).not.toHaveProperty('x-rate-limit');
    expect(paths['/open']!.get!.responses).not.toHaveProperty('429');
  });
});

describe('the OpenAPI document of rules with plans', () => {
  it('has the fields of each plan, with those of later layers and of live changes', async () => {
    @Controller()
    class Api {
      @RateLimit('api')
      @Get('api')
      api() {}
    }
    const plans = { free: { limit: 20 }, pro: { limit: 500, window: '1h' } };
    const onDemand = { api: { window: '1m', limit: 10, by: 'user', plans, plan: () => 'free' } } as const;
    const limits = RateLimitModule.forRoot({
      onDemand,
      overrides: { api: { plans: { pro: { limit: 900 } } } },
      liveRules: new MemoryRuleSource(),
    });
    const module = await Test.createTestingModule({ imports: [limits], controllers: [Api] }).compile();
    app = module.createNestApplication();
    app.useLogger(false);
    await app.init();
    const config = new DocumentBuilder().setTitle('Api').build();
    const described = (): unknown => {
      const { paths } = describeRateLimits(app!, SwaggerModule.createDocument(app!, config));
      return (paths['/api']!.get as unknown as Described)['x-rate-limit'];
    };
    const rule = { name: 'api', limit: 10, window: '1m', algorithm: 'sliding-window-log', by: 'user' };
    expect(described()).toEqual([
      { ...rule, scope: 'shared', plans: { free: { limit: 20 }, pro: { limit: 900, window: '1h' } } },
    ]);
    await app.get(RateLimitService).rules.set('api', { limit: 3 }, { by: 'ops' });
    expect(described()).toEqual([
      { ...rule, limit: 3, scope: 'shared', plans: { free: {}, pro: { window: '1h' } } },
    ]);
  });
});
