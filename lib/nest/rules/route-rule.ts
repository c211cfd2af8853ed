import type { ExecutionContext } from '@nestjs/common';
import type { CalendarWindow } from '../../algorithms/definition.js';
import type { Duration } from '../../contracts/duration.js';
import type {
  Alerting,
  AnyOptions,
  LeaseChoice,
  Named,
  SharedFields,
  WindowedChoice,
} from '../../rules/rule.js';

/** The transports of handlers: HTTP, GraphQL, WebSockets, microservices, and contexts of other libraries. */
export const TRANSPORT_NAMES = ['http', 'graphql', 'ws', 'rpc', 'other'] as const;

/** A transport of handlers. `'rpc'` is a microservice; `'other'` is a context of a library, such as a queue consumer. */
export type TransportName = (typeof TRANSPORT_NAMES)[number];

/** The transports whose handlers all have the module's `rules`. */
export const RULED: readonly TransportName[] = ['http', 'graphql', 'ws'];

/** A value, or a function that returns it for a request, synchronously or asynchronously. Called once per request. */
export type PerRequest<Value> = Value | ((context: ExecutionContext) => Value | Promise<Value>);

/** The fields besides `by` whose functions are called before the handler of a request. */
export const CALLED = ['limit', 'window', 'cost', 'plan', 'skipIf'] as const;

/** A duration, or a string from JSON or ConfigService: the compiler accepts any, and the start checks it. */
export type ConfiguredDuration = Duration | (string & {});

/** The name of a plan; `undefined` or `null` if a request has none. */
type PlanName = string | null | undefined;

/** Returns the subject of a request; `undefined`, `null` or `''` if it has none. */
export type SubjectResolver = (
  context: ExecutionContext,
) => string | number | null | undefined | Promise<string | number | null | undefined>;

/** A header whose value is the subject. */
interface HeaderSource {
  /** Name of the header, case-insensitive. */
  readonly header: string;
}

/**
 * The subject of a rule.
 *
 * - `'ip'`: `request.ip`; an IPv6 address by its network
 * - `'user'`: `request.user`, or its `id`, `sub`, `userId` or `_id`
 * - `'api-key'`: the header `x-api-key`
 * - `'everyone'`: one counter for all requests
 * - a header whose name has a hyphen or is `'authorization'` or `'cookie'`; any other as `{ header: 'apikey' }`
 * - `{ ip: 'cf-connecting-ip' }`: an IP address in a header that your proxy sets, counted as `'ip'` is
 * - a function of the request
 */
export type By =
  | 'ip'
  | 'user'
  | 'api-key'
  | 'everyone'
  | 'authorization'
  | 'cookie'
  | (`${string}-${string}` & {})
  | HeaderSource
  | { readonly ip: string }
  | SubjectResolver;

/** What a rule counts by: a part, or the parts of a list. */
export type CountedBy = By | readonly By[];

/** Handling of a request without the rule's subject: count it by its IP, allow it without this rule, or deny it. */
export type OnMissingSubject = 'ip' | 'skip' | 'deny';

/** The result of a request, for a function in `count`. */
export interface CountResult {
  /** Status of the response. */
  readonly statusCode: number;
  /** Nest's context of the request. */
  readonly context: ExecutionContext;
}

/** Requests that count: all, or by their response. Failures are statuses from 400. */
export type CountWhen =
  'all' | 'failures' | 'successes' | ((result: CountResult) => boolean | Promise<boolean>);

/** The fields in which a plan differs from its rule. The algorithm is that of the rule. */
type PlanFields = Partial<AnyOptions> & {
  /** Permits per window: an integer from 0 to 1,000,000,000. */
  readonly limit?: number;
  /** Length of the window. */
  readonly window?: ConfiguredDuration | CalendarWindow;
  /** Permits that a request takes: an integer from 0 to 1,000,000,000. */
  readonly cost?: number;
};

/** The fields of every rule on routes, without its algorithm and the algorithm's options. */
interface CommonFields extends SharedFields {
  /** Permits per window: an integer from 0 to 1,000,000,000. 0 denies every request. */
  readonly limit?: PerRequest<number>;
  /**
   * How long a denial blocks the subject. Requests during a block do not extend it. `'manual'`: only `block()`
   * blocks.
   * @default no block
   */
  readonly block?: ConfiguredDuration | 'manual';
  /**
   * Permits that a request takes: an integer from 0 to 1,000,000,000. 0 takes none.
   * @default 1
   */
  readonly cost?: PerRequest<number>;
  /**
   * The subject. A list counts each combination separately.
   * @default 'ip'
   */
  readonly by?: By | readonly By[];
  /**
   * `'route'` gives each handler its own counter; `'shared'` has one counter for all handlers and programs that
   * use the name. Rules in `onDemand` are `'shared'` unless they set it.
   * @default 'route'
   */
  readonly scope?: 'route' | 'shared';
  /**
   * Handling of a request without the subject: `'ip'` counts it by its IP, `'skip'` allows it without this rule,
   * `'deny'` denies it.
   * @default 'ip'
   */
  readonly onMissingSubject?: OnMissingSubject;
  /**
   * Requests that count. Each request is charged before its handler runs, and refunded after the response if it
   * does not count. An aborted response counts.
   * @default 'all'
   */
  readonly count?: CountWhen;
  /** Fields by plan: `{ free: { limit: 10 }, pro: { limit: 100 } }`. Each plan is checked and compiled at start. */
  readonly plans?: Readonly<Record<string, PlanFields>>;
  /**
   * Returns the plan of a request, synchronously or asynchronously. Without one, or with one that is not in `plans`, the
   * rule itself applies; the latter is reported once.
   */
  readonly plan?: (context: ExecutionContext) => PlanName | Promise<PlanName>;
  /** Returns `true` to skip the rule for a request. */
  readonly skipIf?: (context: ExecutionContext) => boolean | Promise<boolean>;
  /** Disables the rule for these IP addresses and CIDR ranges. */
  readonly allowList?: readonly string[];
  /**
   * How long a request of a `concurrency` or `leaky-bucket` rule, or a call of a provider's method, waits for permits, up
   * to 366 days. A client that disconnects waits no longer. On other handlers, rules of the other algorithms cannot have
   * it.
   * @default `leaky-bucket`: the delay of the last permit in a full queue; otherwise none
   */
  readonly maxWait?: ConfiguredDuration;
  /**
   * Leading bits of an IPv6 address that form one subject: an integer from 1 to 128.
   * @default 64
   */
  readonly ipv6Prefix?: number;
}

/** The fields of a rule on routes with a window. */
export interface RouteRuleFields extends CommonFields, Alerting {
  /**
   * Length of the window, from 1 ms to 366 days: `'250ms'`, `'10s'`, `'1m'`, `'1h'`, `'1d'`, `'1w'`. With
   * `fixed-window` also a calendar window: `'day'`, `'week'` or `'month'`.
   */
  readonly window?: PerRequest<ConfiguredDuration | CalendarWindow>;
  /**
   * Returns the permits that a request took, from what its handler returned: up to 1,000,000,000, with fractions rounded
   * up. Each request is charged its `cost` before the handler runs, which is corrected after the response. Called with each
   * value of a stream: the last number counts; `null` and `undefined` do not. Of a `StreamableFile`, the result is the
   * number of bytes that were sent so far. Not for `concurrency`.
   *
   * @param result what the handler returned, before interceptors change it
   * @param total what the function returned for the values before, so that it can add up those of a stream; 0 at first
   */
  settle?(result: unknown, context: ExecutionContext, total: number): number | null | undefined;
  /**
   * The charge of a request that fails, with `settle`: `'keep'` charges its `cost`, or more if `settle` returned more by
   * then; `'refund'` refunds it.
   * @default 'keep'
   */
  readonly onError?: 'keep' | 'refund';
}

/** A rule in the module's options, where its key is its name. */
export type NamedRule = (RouteRuleFields & WindowedChoice) | (CommonFields & LeaseChoice);

/** A rule in a decorator. Fields that it omits are inherited from the rule of the same name. */
export type RouteRule = Named & NamedRule;
