import {
  Inject,
  Logger,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import type { Store } from '../contracts/store.js';
import { RateLimitEvents } from '../core/limiter-events.js';
import { RateLimiter } from '../rate-limiter.js';
import { MemoryStore } from '../stores/memory/memory.store.js';
import { RedisStore } from '../stores/redis/redis.store.js';
import { readOptions } from './check-options.js';
import { InvalidValues } from './invalid-values.js';
import { RateLimitAnswer } from './rate-limit.answer.js';
import { RateLimitFilter } from './rate-limit.filter.js';
import { RateLimitGuard } from './rate-limit.guard.js';
import { RateLimitHealth } from './rate-limit.health.js';
import { ConfigurableModuleClass } from './rate-limit.module-definition.js';
import type { RateLimitModuleOptions } from './rate-limit.options.js';
import { RateLimitService } from './rate-limit.service.js';
import { RouteRules } from './route-rules.js';
import { Routes } from './routes.js';
import { RuleBook } from './rule-book.js';
import { Settlement } from './settlement.js';
import { StartCheck } from './start-check.js';
import { logStore } from './store-log.js';
import { SubjectWatch } from './subject-watch.js';
import { RATE_LIMIT_OPTIONS, RATE_LIMIT_STORE } from './tokens.js';
import { Warnings } from './warnings.js';

const logger = new Logger('RateLimit');

/** The store that the options ask for; any, if they are wrong and the application will not start. */
async function createStore(book: RuleBook, options: RateLimitModuleOptions): Promise<Store> {
  if (book.problems.size > 0) return new MemoryStore();
  const { redis, timeout = 50, maxKeys = 100_000 } = readOptions(options);
  if (redis) return RedisStore.open({ redis, timeout });
  logger.log(
    'No `redis` given: counting in the memory of this process. Each process has counters of its own, and a restart forgets them.',
  );
  return new MemoryStore({ maxKeys });
}

function createService(
  store: Store,
  book: RuleBook,
  options: RateLimitModuleOptions,
  routes: Routes,
  warnings: Warnings,
): RateLimitService {
  const isWrong = book.problems.size > 0;
  const {
    prefix = 'rl:',
    onStoreError = 'local',
    instances = 1,
    denyCache = true,
    maxKeys = 100_000,
  } = isWrong ? {} : readOptions(options);
  const fallback = new MemoryStore({ maxKeys });
  const service = new RateLimitService(
    { store, prefix, onStoreError, instances, denyCache, fallback },
    book,
    routes,
    warnings,
  );
  logStore(service.events, () => book.fallbacks.describe());
  return service;
}

function createBook(options: RateLimitModuleOptions): RuleBook {
  return new RuleBook(options);
}

const shared = [
  InvalidValues,
  RateLimitAnswer,
  RateLimitFilter,
  RateLimitGuard,
  RateLimitHealth,
  RouteRules,
  Routes,
  Settlement,
  StartCheck,
  SubjectWatch,
  Warnings,
];

/**
 * Limits every route of the application by the rules in its options and in decorators.
 *
 * Import it once, with `forRoot` or `forRootAsync`.
 */
@Module({
  providers: [
    { provide: RATE_LIMIT_STORE, useFactory: createStore, inject: [RuleBook, RATE_LIMIT_OPTIONS] },
    { provide: RuleBook, useFactory: createBook, inject: [RATE_LIMIT_OPTIONS] },
    {
      provide: RateLimitService,
      useFactory: createService,
      inject: [RATE_LIMIT_STORE, RuleBook, RATE_LIMIT_OPTIONS, Routes, Warnings],
    },
    { provide: RateLimiter, useExisting: RateLimitService },
    { provide: RateLimitEvents, useFactory: ({ events }: RateLimiter) => events, inject: [RateLimiter] },
    ...shared,
  ],
  exports: [RATE_LIMIT_OPTIONS, RATE_LIMIT_STORE, RateLimitService, RateLimiter, RateLimitEvents, ...shared],
})
export class RateLimitModule
  extends ConfigurableModuleClass
  implements OnApplicationBootstrap, OnApplicationShutdown
{
  constructor(
    @Inject(RATE_LIMIT_STORE) private readonly store: Store,
    @Inject(RateLimiter) private readonly limiter: RateLimiter,
    @Inject(SubjectWatch) private readonly watch: SubjectWatch,
    @Inject(RuleBook) private readonly book: RuleBook,
    @Inject(Warnings) private readonly warnings: Warnings,
  ) {
    super();
  }

  /** Lets the first connection come before the first request, and says if it does not. */
  async onApplicationBootstrap(): Promise<void> {
    this.watch.checkTrust();
    this.book.fallbacks.warn(this.warnings);
    await this.limiter.ready();
  }

  /** Closes the connection that the module opened; a client of the user's own stays open. */
  async onApplicationShutdown(): Promise<void> {
    await this.limiter.close();
    await this.store.close();
  }
}
