import type { CanActivate, FactoryProvider, ModuleMetadata, Type } from '@nestjs/common';
import { callable, FLAG, listOf, matching, type OptionCheck } from '../contracts/options.js';
import { isFields } from '../contracts/fields.js';

/** A button of the application on the page. */
export interface DashboardAction {
  /** Its name in the URL, unique among the actions: letters, digits and hyphens. */
  readonly id: string;
  /** Its text. */
  readonly label: string;
  /** Called for a click. A text that it returns is shown. */
  readonly run: () => unknown;
}

/** The options of the operations page that a factory can create. */
export interface RateLimitDashboardOptions {
  /**
   * Whether the page can change nothing: no rules, no subjects, no actions.
   *
   * @default false
   */
  readonly readOnly?: boolean;
  /**
   * Returns the author of a change, for the history of live rules.
   *
   * @default the id of `request.user`, or `'operations page'`
   */
  readonly author?: (request: unknown) => string;
  /**
   * Whether denials and the requests of denied subjects are recorded, so that `explain` and the page can explain them:
   * in less than 14 MB of each process.
   *
   * @default true
   */
  readonly explain?: boolean;
  /**
   * Buttons of the application.
   *
   * @default none
   */
  readonly actions?: readonly DashboardAction[];
}

/** Where the operations page is, and which guards protect it. */
export interface RateLimitDashboardExtras {
  /**
   * Path of the page, without the global prefix.
   *
   * @default '/rate-limits'
   */
  readonly path?: string;
  /**
   * Guards of the page and of all its requests. Without guards, the application starts only outside production.
   */
  readonly guards?: readonly (Type<CanActivate> | CanActivate)[];
  /**
   * Guards of the request that shows masked subjects, such as IPs and user ids, beside `guards`. The log has who has seen
   * which.
   *
   * @default none: subjects stay masked for every user
   */
  readonly unmaskGuards?: RateLimitDashboardExtras['guards'];
  /** Modules with the dependencies of the guards. */
  readonly imports?: ModuleMetadata['imports'];
}

/** The argument of `RateLimitDashboardModule.forRootAsync`. */
export interface RateLimitDashboardAsyncOptions extends RateLimitDashboardExtras {
  /** Dependencies of the factory. */
  readonly inject?: FactoryProvider['inject'];
  /** Creates the options. */
  readonly useFactory: (
    ...dependencies: never[]
  ) => RateLimitDashboardOptions | Promise<RateLimitDashboardOptions>;
}

/** The options of the page, and which of its requests have guards. */
export interface DashboardOptions extends RateLimitDashboardOptions {
  /** Whether all requests have guards. */
  readonly isGuarded: boolean;
  /** Whether those that show subjects have guards beside these. */
  readonly unmask: boolean;
}

/** Injection token of `DashboardOptions`. */
export const DASHBOARD_OPTIONS = Symbol.for('nestjs-redis-rate-limit:dashboard-options');

const isAction = (value: unknown): boolean =>
  isFields(value) &&
  /^[\w-]{1,64}$/.test(String(value['id'])) &&
  typeof value['label'] === 'string' &&
  typeof value['run'] === 'function';

const ACTIONS = listOf(
  "{ id: 'traffic', label: 'Send traffic', run: () => … }, each with its own id",
  isAction,
);

/** Returns an id that several actions have. */
function repeatedId(value: unknown): string | undefined {
  const ids = ACTIONS.accepts(value) ? (value as readonly DashboardAction[]).map(({ id }) => id) : [];
  return ids.find((id, index) => ids.indexOf(id) < index);
}

/** The checks of the options. */
export const DASHBOARD_OPTION_CHECKS = {
  readOnly: FLAG,
  explain: FLAG,
  author: callable('of the request that returns a text'),
  actions: {
    ...ACTIONS,
    accepts: (value) => ACTIONS.accepts(value) && repeatedId(value) === undefined,
    fix: (value) => {
      const id = repeatedId(value);
      return id === undefined ? undefined : `"${id}" is the id of several actions`;
    },
  },
} satisfies Record<keyof RateLimitDashboardOptions, OptionCheck>;

const isGuard = (value: unknown): boolean => {
  const { prototype = value } = Object(value) as { readonly prototype?: unknown };
  return typeof (prototype as Partial<CanActivate> | null)?.canActivate === 'function';
};

const GUARDS = listOf('guards: classes, or objects with the method canActivate', isGuard);

/** The checks of what Nest needs before a factory runs. */
export const DASHBOARD_EXTRA_CHECKS = {
  path: matching(/^\/?[\w.~-]+(\/[\w.~-]+)*\/?$/, "a path such as '/rate-limits'"),
  guards: GUARDS,
  unmaskGuards: GUARDS,
  imports: { allowed: 'a list of modules', accepts: Array.isArray },
} satisfies Record<keyof RateLimitDashboardExtras, OptionCheck>;
