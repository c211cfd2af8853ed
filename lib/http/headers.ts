import { compareStrictness, hasFigures, type Decision, type RuleDecision } from '../contracts/decision.js';

/** Writes the header fields of a decision. */
export type Format = (decision: Decision, headers: Header[], context: HeaderContext) => void;

/** What headers contain beside the decision. */
export interface HeaderContext {
  /** Returns milliseconds since the epoch, for `'legacy'`, which contains an instant. */
  readonly now?: () => number;
  /** Returns the permits that the request took under a rule. */
  readonly costOf?: (decision: Decision, rule: string) => number;
  /** Returns what a rule counts by, as `by` in its options. */
  readonly sourceOf?: (rule: string) => unknown;
}

const X_FIELDS = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'];
const NAMED = ['RateLimit-Policy', 'RateLimit'];
const PUBLISHED = formatOf('r', 't');

/** The header fields of each style. A new draft is one row. */
const STYLES = {
  'draft-10': NAMED,
  'draft-7': NAMED,
  'draft-6': ['RateLimit-Policy', 'RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'],
  draft: NAMED,
  'draft-12': [...NAMED, 'RateLimit-Partition'],
  legacy: X_FIELDS,
  throttler: X_FIELDS,
} satisfies Record<string, readonly string[]>;

/** What the style `'draft'` stands for, for the log. */
export const NEWEST_DRAFT = 'draft-11, whose header fields have the form of "draft-10"';

/**
 * Response header format: a draft of the IETF's RateLimit fields, `X-RateLimit-*` (`'legacy'`), or those of
 * `@nestjs/throttler`: `X-RateLimit-*` for each rule, with its name as a suffix and times in seconds to go
 * (`'throttler'`). `'draft'` is the newest published draft that the package knows, so that it changes with an update.
 * `'draft-12'` is experimental: it is not published, and changes with its text.
 */
export type HeaderStyle = keyof typeof STYLES;

export const HEADER_STYLES = Object.keys(STYLES) as readonly HeaderStyle[];

/** The header fields of all styles. */
export const HEADER_FIELDS: readonly string[] = [...new Set(Object.values(STYLES).flat())];

/** Whether a style is a draft, in which a header states the rules. */
export function isDraft(style: HeaderStyle): boolean {
  return STYLES[style].includes(NAMED[0]!);
}

/** The formats of the styles. Those of all but the default one are loaded if the option `headers` is set. */
export const formats: Partial<Record<HeaderStyle, Format>> = { 'draft-10': PUBLISHED, draft: PUBLISHED };

export type Header = [name: string, value: string];

/**
 * Returns the response headers for a decision, in each of the styles, with `Retry-After` if it is denied.
 *
 * @param styles must not conflict, and their formats must be loaded; ignored for a decision that was not counted
 */
export function rateLimitHeaders(
  decision: Decision,
  styles: readonly HeaderStyle[],
  context: HeaderContext = {},
): Header[] {
  const headers: Header[] = [];
  if (decision.decisions.every(({ shadow }) => shadow)) return headers;
  const isCounted = decision.fallback === undefined || hasFigures(decision);
  for (const style of isCounted ? styles : []) {
    formats[style]!(decision, headers, context);
  }
  if (!decision.allowed && decision.retryAfterMs !== null) {
    headers.push(['Retry-After', `${seconds(decision.retryAfterMs)}`]);
  }
  return headers;
}

/** Returns the results of a decision, strictest first, without those of shadow rules unless there is only one result. */
export function strictestFirst(decision: Decision): readonly RuleDecision[] {
  if (decision.decisions.length === 1) return decision.decisions;
  return decision.decisions.filter(({ shadow }) => !shadow).toSorted(compareStrictness);
}

/** Returns the counted results of a decision, strictest first. A decision that was counted has at least one. */
export function counted(decision: Decision): readonly RuleDecision[] {
  if (decision.decisions.length === 1) return decision.decisions;
  return strictestFirst(decision).filter(hasFigures);
}

/**
 * Returns a format of the drafts from 8, in which each member has the name of its rule.
 *
 * @param name the parameter of `RateLimit` with the permits left
 * @param time its parameter with the time
 * @param more returns further parameters
 */
export function formatOf(
  name: string,
  time: string,
  more?: (rule: RuleDecision, decision: Decision, context: HeaderContext) => string,
): Format {
  return (decision, headers, context) => {
    const rules = counted(decision);
    const timeOf = decision.allowed ? effectiveWindow : timeWhenDenied;
    const quota = (rule: RuleDecision): string => {
      const within = timeOf(rule);
      const member = `${quoted(rule.rule)};${name}=${left(rule)}${within === null ? '' : `;${time}=${within}`}`;
      return more ? member + more(rule, decision, context) : member;
    };
    headers.push(['RateLimit-Policy', list(rules, namedPolicy)], ['RateLimit', list(rules, quota)]);
  };
}

/** The units that the drafts register, besides requests. */
const QUOTA_UNITS: ReadonlySet<string | undefined> = new Set(['content-bytes', 'concurrent-requests']);

/** Omits `w` for a window under a second, which the draft cannot express. Only `concurrency` rules have no window. */
function namedPolicy(rule: RuleDecision): string {
  const unit = rule.windowMs === 0 ? 'concurrent-requests' : rule.unit;
  const policy = `${quoted(rule.rule)};q=${rule.limit}${QUOTA_UNITS.has(unit) ? `;qu="${unit}"` : ''}`;
  if (rule.windowMs === 0) return policy;
  return rule.windowMs < 1000 ? policy : `${policy};w=${seconds(rule.windowMs)}`;
}

/**
 * Returns the time until more quota is available, in seconds: the time in which a client can use no more than what
 * remains. A client that spreads `r` over `t` keeps to the limit and loses little of it. Rounded down while permits
 * remain, since a client that waits a fraction longer at each response settles into a slower pace.
 */
function effectiveWindow(rule: RuleDecision): number {
  const { limit, windowMs, resetAfterMs, nextPermitMs = resetAfterMs } = rule;
  const permits = left(rule);
  if (permits === 0) return seconds(nextPermitMs);
  if (windowMs === 0) return seconds(resetAfterMs);
  return Math.max(1, Math.floor(Math.min(resetAfterMs, (windowMs * permits) / limit) / 1000));
}

/** Returns no time for rules that allow, since `Retry-After` must not be earlier than any time. */
function timeWhenDenied({ allowed, retryAfterMs }: RuleDecision): number | null {
  return allowed || retryAfterMs === null ? null : seconds(retryAfterMs);
}

export function list(rules: readonly RuleDecision[], member: (rule: RuleDecision) => string): string {
  let text = '';
  for (const rule of rules) text += text === '' ? member(rule) : `, ${member(rule)}`;
  return text;
}

/** Encodes a name as an RFC 9651 String. */
export function quoted(name: string): string {
  if (!name.includes('"') && !name.includes('\\')) return `"${name}"`;
  return `"${name.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}

export function left(rule: RuleDecision): number {
  return Math.max(0, rule.remaining);
}

export function seconds(milliseconds: number): number {
  return Math.ceil(milliseconds / 1000);
}
