import { Injectable } from '@nestjs/common';
import type { Decision } from '../../contracts/decision.js';
import { rawOf } from '../../http/response-end.js';
import { DecidedHit } from '../../limiter/decision.js';
import type { RouteLimit } from './route-limit.js';
import { Route } from './routes.js';

/** A rule that is applied to requests before they are routed. */
export interface EarlyRule {
  readonly exclude: ReadonlySet<string>;
  /** The requests whose charge a handler has used. */
  readonly used: WeakSet<object>;
  /** The rule as a route has it; until the start, each request gets a 500. */
  route: Route;
}

type Decided = Record<symbol, Decision | undefined>;

const NOT_STARTED = new Route([], false, true);

/** The rules that `limitBeforeRouting` applies, and what they decided. */
@Injectable()
export class BeforeRouting {
  readonly rules = new Map<string, EarlyRule>();
  /** Whether the rules of the application are compiled, so that none can be added. */
  isStarted = false;
  /** The property of a raw request that holds its decision: a property costs less than an entry of a WeakMap. */
  private readonly decided = Symbol('decided before routing');

  add(name: string, exclude: readonly string[]): EarlyRule {
    const rule = { exclude: new Set(exclude), used: new WeakSet(), route: NOT_STARTED };
    this.rules.set(name, rule);
    return rule;
  }

  /** Notes the decision that has charged a request. */
  charge(request: object, decision: Decision): void {
    (rawOf(request) as Decided)[this.decided] = this.merged(request, decision);
  }

  private decisionOn(request: object): Decision | undefined {
    return (rawOf(request) as Decided)[this.decided];
  }

  /** Whether a rule has charged a request. */
  hasCharged(request: object, name: string): boolean {
    return this.decisionOn(request)?.decisions.some(({ rule }) => rule === name) === true;
  }

  /**
   * Uses the charge of a rule for a handler, once: each field of GraphQL is a request, and a connection has many operations.
   *
   * @returns whether the rule has charged the request, and no handler has used that
   */
  use(request: object, name: string): boolean {
    if (!this.hasCharged(request, name)) return false;
    const { used } = this.rules.get(name)!;
    const raw = rawOf(request);
    return !used.has(raw) && !!used.add(raw);
  }

  /** Returns a decision with the results of the rules that were applied before routing, for headers. */
  merged(request: object, decision: Decision): Decision {
    const before = this.decisionOn(request);
    return before ? DecidedHit.joined(before, decision) : decision;
  }

  /** Keeps the limit of a handler from charging a request again, if its rule has done so before routing. */
  precede(limit: RouteLimit): void {
    if (!this.rules.has(limit.name)) return;
    const apply = limit.apply.bind(limit);
    limit.apply = (exchange) => (this.use(exchange.request, limit.name) ? [] : apply(exchange));
  }
}
