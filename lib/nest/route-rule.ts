import type { ExecutionContext } from '@nestjs/common';
import type { CalendarWindow } from '../algorithms/calendar-length.js';
import type { Duration } from '../contracts/duration.js';
import type { AlgorithmChoice, RuleBase } from '../core/rule.js';

/** A value, or a function of the request that gives it, sync or async. */
export type PerRequest<Value> = Value | ((context: ExecutionContext) => Value | Promise<Value>);

/** Finds the subject of a request; nothing, `null` or `''` means that there is none. */
export type SubjectResolver = (
  context: ExecutionContext,
) => string | number | null | undefined | Promise<string | number | null | undefined>;

/** A header whose value is the subject, by its name in any case. */
export interface HeaderSource {
  readonly header: string;
}

/**
 * The subject that a rule counts by: `'ip'`, `'user'` (`request.user`: its `id`, `sub` or `userId`),
 * `'api-key'` (the header `x-api-key`), `'everyone'` (one counter for all requests), a header whose name
 * has a hyphen or is `'authorization'` or `'cookie'`, any other header as `{ header: 'apikey' }`, or a
 * function.
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
  | SubjectResolver;

/** What a request without the rule's subject counts as. */
export type OnMissingSubject = 'ip' | 'skip' | 'deny';

/** How a request ended. */
export interface ChargeResult {
  /** The status of the response. */
  readonly statusCode: number;
  readonly context: ExecutionContext;
}

/** When a request counts: always, or by how it ended; failures are statuses from 400. */
export type ChargeWhen =
  'always' | 'failures' | 'successes' | ((result: ChargeResult) => boolean | Promise<boolean>);

/** What a rule on a route may say besides its algorithm and that algorithm's options. */
export interface RouteRuleFields extends Pick<
  RuleBase,
  'block' | 'mode' | 'per' | 'onStoreError' | 'candidate'
> {
  /** Permits a window: an integer from 0 (which denies everything) to 1,000,000,000. */
  readonly limit?: PerRequest<number>;
  /**
   * The window, from 1 ms to 366 days: `'250ms' '10s' '1m' '1h' '1d' '1w'`; for a fixed window
   * also a `'day'`, a `'week'` or a `'month'` of a time zone.
   */
  readonly window?: PerRequest<Duration | CalendarWindow>;
  /**
   * Permits that a request takes: an integer from 0 (asks only) to 1,000,000,000.
   * @default 1
   */
  readonly cost?: PerRequest<number>;
  /**
   * The subject; a list counts each combination separately.
   * @default 'ip'
   */
  readonly by?: By | readonly By[];
  /**
   * `'route'`: each handler has its own counter. `'shared'`: one counter wherever the name applies. Rules in
   * `onDemand` are `'shared'` unless they set it.
   * @default 'route'
   */
  readonly scope?: 'route' | 'shared';
  /**
   * What to do with a request without the subject: count it by its IP, allow it without this rule, or deny it.
   * @default 'ip'
   */
  readonly onMissingSubject?: OnMissingSubject;
  /**
   * Which requests count in the end. Each is charged before its handler runs, and given back after
   * the response if it does not count. A response that is cut off counts.
   * @default 'always'
   */
  readonly charge?: ChargeWhen;
  /** The rule does not apply to requests for which this is true. */
  readonly skipIf?: (context: ExecutionContext) => boolean | Promise<boolean>;
  /** The rule does not apply to these IPs and CIDR ranges. */
  readonly allowList?: readonly string[];
  /**
   * How many leading bits of an IPv6 address are one subject, an integer from 1 to 128.
   * @default 64
   */
  readonly ipv6Prefix?: number;
}

/** A rule in the module's options, under its name. */
export type NamedRule = RouteRuleFields & AlgorithmChoice;

/**
 * A rule in a decorator. What it leaves out comes from the rule of the same name further out:
 * on the controller, or in the module's options.
 */
export type RouteRule = NamedRule & {
  /**
   * Its name in decisions, headers and overrides: 1 to 64 printable ASCII characters.
   * @default 'default'
   */
  readonly name?: string;
};
