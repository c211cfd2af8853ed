import { Module, type MiddlewareConsumer, type NestModule } from '@nestjs/common';
import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import { ConfigModule, ConfigService, type ConfigType } from '@nestjs/config';
import { GraphQLModule } from '@nestjs/graphql';
import { overridesFromEnv, RateLimitModule } from 'nestjs-redis-rate-limit';
import { RateLimitDashboardModule } from 'nestjs-redis-rate-limit/dashboard';
import { bearerUser } from './auth/bearer-user.middleware.js';
import { CatalogResolver } from './catalog/catalog.resolver.js';
import { ChatGateway } from './chat/chat.gateway.js';
import { rateLimitConfig } from './config/rate-limit.config.js';
import { ExportController } from './export/export.controller.js';
import { GeocodeController } from './geocode/geocode.controller.js';
import { Geocoder } from './geocode/geocoder.js';
import { GuideController } from './guide/guide.controller.js';
import { HealthController } from './health/health.controller.js';
import { liveRules } from './limits/live-rules.js';
import { AdminGuard } from './limits/admin.guard.js';
import { LimitsController } from './limits/limits.controller.js';
import { LoginController } from './login/login.controller.js';
import { OrdersController } from './orders/orders.controller.js';
import { ParcelsConsumer } from './parcels/parcels.consumer.js';
import { ReportsController } from './reports/reports.controller.js';
import { SearchController } from './search/search.controller.js';
import { TrafficModule } from './traffic/traffic.module.js';
import { Traffic } from './traffic/traffic.js';

@Module({
  imports: [
    ConfigModule.forRoot({ isGlobal: true, load: [rateLimitConfig] }),
    RateLimitModule.forRootAsync({
      inject: [rateLimitConfig.KEY, ConfigService],
      useFactory: (limits: ConfigType<typeof rateLimitConfig>, config: ConfigService) => ({
        ...limits,
        redis: config.get<string>('REDIS_URL'),
        liveRules: liveRules(config.get<string>('REDIS_URL'), limits.prefix),
        overrides: { ...limits.overrides, ...overridesFromEnv(config) },
      }),
    }),
    RateLimitDashboardModule.forRootAsync({
      guards: process.env['NODE_ENV'] === 'production' ? [AdminGuard] : [],
      unmaskGuards: [AdminGuard],
      imports: [TrafficModule],
      inject: [Traffic],
      useFactory: (traffic: Traffic) => ({
        actions: [{ id: 'traffic', label: 'Send traffic', run: () => traffic.start() }],
      }),
    }),
    GraphQLModule.forRoot<ApolloDriverConfig>({
      driver: ApolloDriver,
      autoSchemaFile: true,
      graphiql: false,
    }),
  ],
  controllers: [
    GuideController,
    HealthController,
    LoginController,
    OrdersController,
    SearchController,
    ExportController,
    ReportsController,
    GeocodeController,
    LimitsController,
    ParcelsConsumer,
  ],
  providers: [Geocoder, CatalogResolver, ChatGateway],
})
export class AppModule implements NestModule {
  /** Middleware runs before guards, so `request.user` is set when the rate limit guard runs. */
  configure(consumer: MiddlewareConsumer): void {
    consumer.apply(bearerUser).forRoutes('{*path}');
  }
}
