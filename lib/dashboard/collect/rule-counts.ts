import type { RuleDecision } from '../../contracts/decision.js';
import type { RuleHit } from '../../rules/compiled-rule.js';
import { RATE_S, RULE_CHART_S } from '../snapshot.js';
import type { RecordedRequests } from '../../nest/explanation.js';
import { hashOf, isSampled, mergeTraffic, routeHash, TrafficRecord } from './traffic-record.js';
import { subjectText } from './masked.js';
import { DeniedSubjects } from './space-saving.js';
import type { SubjectTimelines } from './denial-record.js';
import { Seconds } from './counts.js';

const MOST_ROUTES = 50;

const [ALLOWED, DENIED] = ['allowed', 'denied'] as const;

/** Number of rules that this process has counted. */
let created = 0;

/** Allowed and denied requests. */
export type RouteCounts = Pick<RuleCounts, 'allowed' | 'denied'>;

/** What one process counts of one rule. */
export class RuleCounts {
  readonly allowed = new Seconds(RULE_CHART_S);
  readonly denied = new Seconds(RULE_CHART_S);
  readonly wouldDeny = new Seconds(RATE_S);
  readonly trialDeny = new Seconds(RATE_S);
  readonly subjects = new DeniedSubjects();
  readonly routes = new Map<string, RouteCounts>();
  readonly traffic = new TrafficRecord();
  /** Names the rule in the timelines of subjects, which those of a removed rule outlive. */
  private readonly number = (created += 1);
  /** The second of the last result. */
  seen = 0;
  /** Whether permits of the rule have ever been refunded. */
  isRefunded = false;

  /** @param timelines records the requests of denied subjects; absent if denials are not recorded */
  constructor(private readonly timelines: SubjectTimelines | undefined) {}

  /**
   * Counts the result of the rule for a request.
   *
   * @param isDeniedElsewhere whether another rule denied the request, so that this one did not count it
   */
  add(now: number, { allowed, shadow }: RuleDecision, hit: RuleHit, isDeniedElsewhere: boolean): void {
    const second = Math.floor(now / 1000);
    if (!allowed && shadow) this.wouldDeny.add(second);
    (allowed || shadow ? this.allowed : this.denied).add(second);
    const text = subjectText(hit.subject);
    if (!allowed) this.subjects.add(second, text, hit.route);
    if (isDeniedElsewhere) return;
    const { cost, route, rule } = hit;
    const { resolved } = rule;
    const request = { subject: hashOf(text), route: routeHash(route), cost, isDenied: !allowed, resolved };
    this.traffic.add(now, request);
    this.timelines?.add(this.keyOf(request), now, !allowed && !shadow);
  }

  /** Returns the requests of a subject that this process has recorded. */
  recorded(now: number, subject: string, route: string | undefined): RecordedRequests {
    const wanted = { subject: hashOf(subject), route: routeHash(route) };
    const { depth, requests } = mergeTraffic([this.traffic.read(now)]);
    const isWhole = isSampled(wanted.subject, depth);
    const own = requests.filter((each) => each.subject === wanted.subject && each.route === wanted.route);
    const whole = own.map(({ at, isDenied }) => ({ at, outcome: isDenied ? DENIED : ALLOWED, count: 1 }));
    const since = this.timelines?.read(this.keyOf(wanted)) ?? [];
    return { share: 2 ** -depth, isWhole, requests: isWhole ? whole : since };
  }

  private keyOf({ subject, route }: { readonly subject: number; readonly route: number }): number {
    return this.number * 2 ** 32 + ((subject ^ route) >>> 0);
  }

  /**
   * Records that the permits of a request were refunded.
   *
   * @param at when the request was counted; absent if that is unknown
   */
  refunded(now: number, hit: RuleHit, at: number | undefined): void {
    this.isRefunded = true;
    const subject = hashOf(subjectText(hit.subject));
    this.traffic.refund(now, { subject, route: routeHash(hit.route) }, at);
  }

  addRoute(second: number, route: string, isAllowed: boolean): void {
    let counts = this.routes.get(route);
    if (!counts) {
      if (this.routes.size >= MOST_ROUTES) return;
      counts = { allowed: new Seconds(RATE_S), denied: new Seconds(RATE_S) };
      this.routes.set(route, counts);
    }
    (isAllowed ? counts.allowed : counts.denied).add(second);
  }
}
