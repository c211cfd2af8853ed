import {
  Controller,
  Inject,
  Module,
  Optional,
  Post,
  Req,
  Res,
  UseGuards,
  VERSION_NEUTRAL,
  type DynamicModule,
  type OnModuleInit,
  type Type,
} from '@nestjs/common';
import { callable, readOptions } from '../contracts/options.js';
import { rejectConfig } from '../contracts/rate-limit-config.error.js';
import { SkipRateLimit } from '../nest/rate-limit.decorator.js';
import { ALGORITHM_NAMES, loadAlgorithms } from '../rules/rule-fields.js';
import { Warnings } from '../nest/warnings.js';
import { ProcessReports } from './collect/process-reports.js';
import { DashboardController } from './dashboard.controller.js';
import {
  DASHBOARD_EXTRA_CHECKS,
  DASHBOARD_OPTION_CHECKS,
  DASHBOARD_OPTIONS,
  type DashboardOptions,
  type RateLimitDashboardAsyncOptions,
  type RateLimitDashboardExtras,
  type RateLimitDashboardOptions,
} from './dashboard.options.js';
import { Changes } from './http/changes.js';
import { EventStreams } from './http/event-streams.js';
import { Explanations } from './explain/explanations.js';
import { History } from './http/history.js';
import { Previews } from './preview/previews.js';
import { Snapshots } from './snapshots.js';
import { Blocks } from './subjects/blocks.js';
import { RemainingPermits } from './subjects/remaining-permits.js';
import { Restrictions } from './subjects/restrictions.js';
import { SubjectActions } from './subjects/subject-actions.js';
import type { DashboardRequest } from './http/request-checks.js';

type Guards = NonNullable<RateLimitDashboardExtras['guards']>;

const WITHOUT_OPTIONS =
  'RateLimitDashboardModule: imported without options; write RateLimitDashboardModule.forRoot()';

const WITHOUT_MODULE =
  'RateLimitDashboardModule: RateLimitModule is not imported; add RateLimitModule.forRoot() to the imports of the root module';

const WITHOUT_GUARDS =
  'RateLimitDashboardModule.guards: missing; allowed in production: a list of one guard or more';

const PARTS = [
  Blocks,
  Changes,
  EventStreams,
  Explanations,
  History,
  Previews,
  ProcessReports,
  RemainingPermits,
  Restrictions,
  Snapshots,
  SubjectActions,
] as const;

// Without RateLimitModule, the constructor of the page names the fix: Nest would name a class of this package.
for (const part of PARTS) {
  for (let index = 0; index < part.length; index += 1) Optional()(part, undefined, index);
}

/**
 * Adds the operations page: live figures of all processes, the rules in force, and changes of rules and subjects. Import
 * it beside `RateLimitModule`.
 *
 * Without guards, the application starts only outside production.
 *
 * @example
 * RateLimitDashboardModule.forRoot({ path: '/rate-limits', guards: [AdminGuard] })
 */
@Module({})
export class RateLimitDashboardModule implements OnModuleInit {
  /**
   * @internal
   * @throws RateLimitConfigError if it has no options, or RateLimitModule is not imported
   */
  constructor(
    @Optional() @Inject(DASHBOARD_OPTIONS) private readonly options: DashboardOptions,
    @Optional() @Inject(Warnings) private readonly warnings: Warnings,
  ) {
    if (!options) rejectConfig(WITHOUT_OPTIONS);
    if (!warnings) rejectConfig(WITHOUT_MODULE);
  }

  /**
   * Imports the page with options.
   *
   * @throws RateLimitConfigError if an option is invalid
   */
  static forRoot(options: RateLimitDashboardOptions & RateLimitDashboardExtras = {}): DynamicModule {
    const checks = { ...DASHBOARD_OPTION_CHECKS, ...DASHBOARD_EXTRA_CHECKS };
    const read = readOptions('RateLimitDashboardModule.forRoot', options, checks);
    return moduleOf({ ...read, useFactory: () => read });
  }

  /**
   * Imports the page with options that a factory creates. The path and the guards are beside the factory.
   *
   * @throws RateLimitConfigError if an option is invalid
   */
  static forRootAsync(options: RateLimitDashboardAsyncOptions): DynamicModule {
    const checks = {
      ...DASHBOARD_EXTRA_CHECKS,
      inject: { allowed: 'a list', accepts: Array.isArray },
      useFactory: { ...callable('that returns the options'), isRequired: true },
    };
    const read = readOptions('RateLimitDashboardModule.forRootAsync', options, checks);
    const useFactory = async (...dependencies: never[]): Promise<RateLimitDashboardOptions> =>
      readOptions(
        'RateLimitDashboardModule',
        await read.useFactory(...dependencies),
        DASHBOARD_OPTION_CHECKS,
      );
    return moduleOf({ ...read, useFactory });
  }

  /**
   * @internal
   * @throws RateLimitConfigError if the page has no guards in production
   */
  onModuleInit(): void {
    if (this.options.isGuarded) return;
    if (process.env['NODE_ENV'] === 'production') rejectConfig(WITHOUT_GUARDS);
    this.warnings.warn(
      'RL_DASHBOARD_OPEN',
      'The operations page has no guards: every program of this machine, and a proxy on it, can read it and change ' +
        'limits. Set `guards`; in production, the application does not start without them.',
    );
  }
}

function moduleOf(options: RateLimitDashboardAsyncOptions): DynamicModule {
  const { path = '/rate-limits', guards = [], unmaskGuards = [], imports = [], inject = [] } = options;
  const guarded = { isGuarded: guards.length > 0, unmask: unmaskGuards.length > 0 };
  const optionsOf = async (...dependencies: never[]): Promise<DashboardOptions> => {
    return { ...(await options.useFactory(...dependencies)), ...guarded };
  };
  return {
    module: RateLimitDashboardModule,
    imports,
    controllers: [controllerAt(path, guards, unmaskGuards)],
    providers: [
      { provide: DASHBOARD_OPTIONS, useFactory: optionsOf, inject },
      // A preview may be of any algorithm.
      { provide: loadAlgorithms, useFactory: () => loadAlgorithms(ALGORITHM_NAMES) },
      ...PARTS,
    ],
  };
}

/** Operators need the page when a limit is wrong, so no rule applies to it. */
function controllerAt(path: string, guards: Guards, unmaskGuards: Guards): Type {
  class RateLimitDashboardController extends DashboardController {
    @Post(['unmask', 'explain'])
    @UseGuards(...unmaskGuards)
    override unmask(@Req() request: DashboardRequest, @Res() response: unknown): Promise<void> {
      return super.unmask(request, response);
    }
  }
  Controller({ path, version: VERSION_NEUTRAL })(RateLimitDashboardController);
  UseGuards(...guards)(RateLimitDashboardController);
  SkipRateLimit()(RateLimitDashboardController);
  return RateLimitDashboardController;
}
