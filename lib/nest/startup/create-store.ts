import { readFileSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { APPLICATION } from '../../limiter/rate-limiter.options.js';
import type { BaseStore } from '../../contracts/base-store.js';
import type { ApplicationClient } from '../../stores/redis/link/application-client.js';
import type { RedisStore } from '../../stores/redis/redis.store.js';
import type { DeclaredRules } from '../rules/declared-rules.js';
import { Logger } from '@nestjs/common';
import { fullMessage } from '../../stores/memory/entries.js';
import { MemoryStore } from '../../stores/memory/memory.store.js';
import { warnOfLargeLog } from '../checks/route-checks.js';
import type { Engine } from '../../limiter/engine.js';
import { parts } from '../../limiter/parts.js';
import type { LiveRules } from '../live-rules.js';
import type { RateLimitModuleOptions } from '../rate-limit.options.js';
import { RateLimitService } from '../rate-limit.service.js';
import type { Routes } from '../request/routes.js';
import type { RuleTable } from '../rules/rule-table.js';
import type { Warnings } from '../warnings.js';

/**
 * Returns the name in the nearest package.json of the program, which stays the same when its rules or its version change;
 * `undefined` if there is none. A program that is installed, such as a test runner, stands for the working directory.
 */
export function applicationName(program = process.argv[1], folder = process.cwd()): string | undefined {
  const isInstalled = program === undefined || program.split(sep).includes('node_modules');
  return (isInstalled ? undefined : nameAbove(dirname(program))) ?? nameAbove(folder);
}

function nameAbove(folder: string): string | undefined {
  const name = nameIn(folder);
  const parent = dirname(folder);
  return name ?? (parent === folder ? undefined : nameAbove(parent));
}

/** A package.json without a name, such as one that only sets the type of modules, is not that of the application. */
function nameIn(folder: string): string | undefined {
  try {
    const { name } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { name?: unknown };
    return APPLICATION.accepts(name) ? (name as string) : undefined;
  } catch {
    return undefined;
  }
}

/** The value of `RATE_LIMIT_REDIS`, and how the module closes it. */
export interface ClientHolder extends Omit<ApplicationClient, 'client'> {
  readonly client: object | null;
}

const NONE: ClientHolder = { client: null, close: () => Promise.resolve() };

/**
 * Creates the client of `RATE_LIMIT_REDIS`, or takes the user's.
 *
 * @param store has been connected, so that it knows whether the server is a Redis Cluster, and whether it has INFO
 */
export async function createClient(store: BaseStore, { read }: DeclaredRules): Promise<ClientHolder> {
  const { redis } = read;
  if (!redis) return NONE;
  const { openApplicationClient } = await import('../../stores/redis/open-redis-store.js');
  return openApplicationClient(redis, store as Partial<RedisStore>);
}

const logger = new Logger('RateLimit');

/** Creates the store of the module. For invalid options it is an arbitrary one, because the application will not start. */
export async function createStore(declared: DeclaredRules, warnings: Warnings): Promise<BaseStore> {
  return declared.problems.size > 0 ? new MemoryStore() : openStore(declared.read, warnings);
}

/** The options that name a store. `store` is one of the application. */
interface StoreOptions extends Pick<RateLimitModuleOptions, 'redis' | 'timeout' | 'functions' | 'maxKeys'> {
  readonly store?: BaseStore | undefined;
}

/** Creates the store that options and the environment name, and logs which. */
export async function openStore(options: StoreOptions, warnings: Warnings): Promise<BaseStore> {
  if (process.env.RATE_LIMIT === 'off') {
    const { OFF, UnlimitedStore } = await import('../../stores/memory/unlimited.store.js');
    warnings.warn('RL_OFF', OFF);
    return new UnlimitedStore();
  }
  if (process.env.RATE_LIMIT !== undefined) {
    const { withoutEffect } = await import('../rare-messages.js');
    warnings.warn('RL_UNREAD_VARIABLES', withoutEffect(process.env.RATE_LIMIT), 'RATE_LIMIT');
  }
  const { store: own, redis, timeout = 50, functions = true, maxKeys = 100_000 } = options;
  if (own) return own;
  if (redis) {
    const { openRedisStore } = await import('../../stores/redis/open-redis-store.js');
    const store = await openRedisStore({ redis, timeout, functions });
    const { logServers } = await import('../checks/store-log.js');
    logServers(store, warnings);
    return store;
  }
  if (process.env['NODE_ENV'] === 'production' && 'redis' in options) {
    const { REDIS_UNSET } = await import('../rare-messages.js');
    warnings.warn('RL_REDIS_UNSET', REDIS_UNSET);
  } else {
    logger.log(
      'No `redis` given: counting in the memory of this process. Each process counts separately, and a restart clears the counters.',
    );
  }
  return openMemory(maxKeys, 'all', warnings);
}

/** Creates the limiter of the module, whose rules are those of the table. */
export async function createService(
  store: BaseStore,
  declared: DeclaredRules,
  table: RuleTable,
  rules: LiveRules,
  routes: Routes,
  warnings: Warnings,
): Promise<RateLimitService> {
  const options = declared.read;
  const {
    prefix = 'rl:',
    application = applicationName(),
    onStoreError = 'local',
    instances = 1,
    denyCache = true,
    maxKeys = 100_000,
  } = options;
  const fallback = openMemory(maxKeys, 'fallback', warnings);
  const log = store instanceof MemoryStore ? undefined : await import('../checks/store-log.js');
  if (log) parts.pipeline = (await import('../../limiter/pipeline.js')).Pipeline;
  const service = new RateLimitService(
    { store, prefix, application, onStoreError, instances, denyCache, fallback },
    table,
    rules,
    async () => {
      const { ProgramRules } = await import('../programs/program-rules.js');
      return new ProgramRules(declared, table, routes, warnings);
    },
  );
  follow(table, service.engine, warnings);
  await log?.watch(store.shared, service, { ...options, application, prefix }, warnings);
  return service;
}

/** Gives the rules of the table the keys of an engine, which follows live changes. */
function follow(table: RuleTable, engine: Engine, warnings: Warnings): void {
  table.keys = {
    cacheLimit: engine.keys.cacheLimit,
    keyed: (compiled, { owner = 'the module', route }, fields, counter) => {
      warnOfLargeLog(warnings, fields, compiled, owner);
      return engine.keyed(compiled, route, counter);
    },
  };
  table.changed = () => engine.rulesChanged();
}

/** What to do about a full memory, by what it counts: all requests, or those that Redis cannot decide. */
const FIXES = {
  all: 'Raise maxKeys, or count in Redis',
  fallback: 'Raise maxKeys, or restore Redis: the memory is its fallback',
};

/** Creates a store in memory, which warns when it is full and forgets counters, at most once an hour. */
function openMemory(maxKeys: number, counted: keyof typeof FIXES, warnings: Warnings): MemoryStore {
  const store = new MemoryStore({ maxKeys });
  store.watchFull(() => {
    warnings.withdraw('RL_MEMORY_FULL', counted);
    warnings.warn('RL_MEMORY_FULL', fullMessage(maxKeys, FIXES[counted]), counted);
  });
  return store;
}
