// An application with the operations page, which runs as a process. The first argument has the options of RateLimitModule as JSON.
import { Controller, Get, Module, Post, Req } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { RateLimit, RateLimitModule, RateLimitService } from 'nestjs-redis-rate-limit';
import { RateLimitDashboardModule } from 'nestjs-redis-rate-limit/dashboard';
import { RedisRuleSource } from 'nestjs-redis-rate-limit/redis';

const { framework, ...limits } = JSON.parse(process.argv[2]);
const { redis, prefix } = limits;

/** Allows requests with a header. */
const withHeader = (name) => ({
  canActivate: (context) => context.switchToHttp().getRequest().headers[name] === 'yes',
});

class Routes {
  login() {}
  export() {}

  /** Calls operations of the limiter: a list of `[name, ...arguments]`. */
  operate({ body }) {
    const service = app.get(RateLimitService);
    return Promise.all(
      body.map(([name, ...args]) => {
        const [method, of] = name.startsWith('rules.') ? [name.slice(6), service.rules] : [name, service];
        return of[method](...args);
      }),
    );
  }
}

class AppModule {}

/** Applies decorators, which this file cannot have as syntax. */
function decorate(method, ...decorators) {
  const descriptor = Object.getOwnPropertyDescriptor(Routes.prototype, method);
  for (const each of decorators) each(Routes.prototype, method, descriptor);
}

Controller()(Routes);
decorate(
  'login',
  RateLimit({ name: 'login', window: '1h', limit: 3, algorithm: 'gcra', by: 'ip' }),
  Get('login'),
);
decorate(
  'export',
  RateLimit({ name: 'export', algorithm: 'concurrency', limit: 2, maxWait: '1s' }),
  Get('export'),
);
decorate('operate', Post('operate'));
Req()(Routes.prototype, 'operate', 0);

Module({
  imports: [
    RateLimitModule.forRoot({
      liveRules: new RedisRuleSource({ redis, key: `${prefix}rules` }),
      warnings: { RL_TRUST_PROXY_ALL: false },
      ...limits,
    }),
    RateLimitDashboardModule.forRoot({
      guards: [withHeader('x-operator')],
      unmaskGuards: [withHeader('x-operator')],
    }),
  ],
  controllers: [Routes],
})(AppModule);

const isFastify = framework === 'fastify';
const app = isFastify
  ? await NestFactory.create(AppModule, new FastifyAdapter({ trustProxy: true }))
  : await NestFactory.create(AppModule);
if (!isFastify) app.getHttpAdapter().set('trust proxy', true);
app.enableShutdownHooks();
await app.listen(0, '127.0.0.1');
console.log(`Listens on port ${app.getHttpServer().address().port}.`);
