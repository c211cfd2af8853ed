import { compareStrictness, hasFigures, type Decision, type RuleDecision } from '../contracts/decision.js';

/** Writes the header fields of a decision. */
type Format = (decision: Decision, headers: Header[], context: HeaderContext) => void;

/** A response header format. */
interface Style {
  readonly fields: readonly string[];
  readonly format: Format;
}

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
const PUBLISHED: Style = { fields: NAMED, format: named({ left: 'r', time: 't' }) };

/** A new draft is one row. */
const STYLES = {
  'draft-10': PUBLISHED,
  'draft-7': { fields: NAMED, format: draft7 },
  'draft-6': {
    fields: ['RateLimit-Policy', 'RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'],
    format: draft6,
  },
  draft: PUBLISHED,
  'draft-12': {
    fields: [...NAMED, 'RateLimit-Partition'],
    format: named({ left: 'a', time: 'w', more: cost }, partitions),
  },
  legacy: { fields: X_FIELDS, format: legacy },
  throttler: { fields: X_FIELDS, format: throttler },
} satisfies Record<string, Style>;

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
export const HEADER_FIELDS: readonly string[] = [
  ...new Set(Object.values(STYLES).flatMap(({ fields }: Style) => fields)),
];

export type Header = [name: string, value: string];

/**
 * Returns the response headers for a decision, in each of the styles, with `Retry-After` if it is denied.
 *
 * @param styles must not conflict, see `headerStyleConflict`; ignored for a decision that was not counted
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
    STYLES[style].format(decision, headers, context);
  }
  if (!decision.allowed && decision.retryAfterMs !== null) {
    headers.push(['Retry-After', `${seconds(decision.retryAfterMs)}`]);
  }
  return headers;
}

const isDraft = (style: HeaderStyle): boolean => STYLES[style].fields.includes(NAMED[0]!);

/** Returns why these styles conflict; `undefined` if they do not. */
export function headerStyleConflict(styles: readonly HeaderStyle[]): string | undefined {
  const drafts = styles.filter(isDraft).length;
  if (drafts <= 1 && styles.length - drafts <= 1) return undefined;
  const names = (some: readonly HeaderStyle[]): string => some.map((style) => `"${style}"`).join(', ');
  const known = names(HEADER_STYLES.filter(isDraft));
  return `got ${names(styles)}; allowed: one of ${known}, which all write RateLimit-Policy, and one of "legacy" and "throttler"`;
}

/** Returns the results of a decision, strictest first, without those of shadow rules unless there is only one result. */
export function strictestFirst(decision: Decision): readonly RuleDecision[] {
  if (decision.decisions.length === 1) return decision.decisions;
  return decision.decisions.filter(({ shadow }) => !shadow).toSorted(compareStrictness);
}

/** Returns the counted results of a decision, strictest first. A decision that was counted has at least one. */
function counted(decision: Decision): readonly RuleDecision[] {
  if (decision.decisions.length === 1) return decision.decisions;
  return strictestFirst(decision).filter(hasFigures);
}

/** The parameters of `RateLimit`: the names of the permits left and of the time, and further ones. */
interface Parameters {
  readonly left: string;
  readonly time: string;
  readonly more?: (rule: RuleDecision, decision: Decision, context: HeaderContext) => string;
}

/** Returns a format of the drafts from 8, in which each member has the name of its rule. */
function named({ left: name, time, more }: Parameters, others?: Format): Format {
  return (decision, headers, context) => {
    const rules = counted(decision);
    const timeOf = decision.allowed ? effectiveWindow : timeWhenDenied;
    const quota = (rule: RuleDecision): string => {
      const within = timeOf(rule);
      const member = `${quoted(rule.rule)};${name}=${left(rule)}${within === null ? '' : `;${time}=${within}`}`;
      return more ? member + more(rule, decision, context) : member;
    };
    headers.push(['RateLimit-Policy', list(rules, namedPolicy)], ['RateLimit', list(rules, quota)]);
    others?.(decision, headers, context);
  };
}

/** The permits that a request took: none if it is denied. */
function cost({ rule }: RuleDecision, decision: Decision, { costOf }: HeaderContext): string {
  if (!costOf) return '';
  return `;c=${decision.allowed ? costOf(decision, rule) : 0}`;
}

/** The dimensions of partitions that a client knows, by what a rule counts by. */
const DIMENSIONS: Readonly<Record<string, string>> = { user: 'user_id', 'api-key': 'client_id' };

function partitions(decision: Decision, headers: Header[], { sourceOf }: HeaderContext): void {
  const members = counted(decision).flatMap(({ rule }) => {
    const found = [sourceOf?.(rule)].flat().map((each) => DIMENSIONS[String(each)]);
    return found.includes(undefined) ? [] : `${quoted(rule)};${found.join(';')}`;
  });
  if (members.length > 0) headers.push(['RateLimit-Partition', members.join(', ')]);
}

function draft7(decision: Decision, headers: Header[]): void {
  const reset = seconds(resetMs(decision));
  headers.push(...policies(decision), [
    'RateLimit',
    `limit=${decision.limit}, remaining=${left(decision)}, reset=${reset}`,
  ]);
}

function draft6(decision: Decision, headers: Header[]): void {
  headers.push(...policies(decision), ...figures('RateLimit', decision, resetMs(decision)));
}

function legacy(decision: Decision, headers: Header[], { now = Date.now }: HeaderContext): void {
  headers.push(...figures('X-RateLimit', decision, now() + resetMs(decision)));
}

/** The name of the rule is a suffix of the header, except for `default`. */
function throttler(decision: Decision, headers: Header[]): void {
  for (const rule of counted(decision)) {
    const suffix = rule.rule === 'default' ? '' : `-${rule.rule.replace(/[^\w.~!#$%&'*+^`|-]/g, '-')}`;
    headers.push(...figures('X-RateLimit', rule, rule.resetAfterMs, suffix));
    const isDenied = !rule.allowed && rule.retryAfterMs !== null;
    if (isDenied && suffix) headers.push([`Retry-After${suffix}`, `${seconds(rule.retryAfterMs)}`]);
  }
}

/** Returns one header for each of the limit, the remaining permits and the reset. */
function figures(name: string, rule: RuleDecision, reset: number, suffix = ''): Header[] {
  return [
    [`${name}-Limit${suffix}`, `${rule.limit}`],
    [`${name}-Remaining${suffix}`, `${left(rule)}`],
    [`${name}-Reset${suffix}`, `${seconds(reset)}`],
  ];
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

/** Omits `concurrency` rules: the drafts up to 7 require `w`, and these rules have no window. */
function policies(decision: Decision): Header[] {
  const windowed = counted(decision).filter(({ windowMs }) => windowMs > 0);
  if (windowed.length === 0) return [];
  return [['RateLimit-Policy', list(windowed, ({ limit, windowMs }) => `${limit};w=${seconds(windowMs)}`)]];
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

/** The drafts up to 7 require the same time here and in `Retry-After`. */
function resetMs(decision: Decision): number {
  return decision.allowed ? decision.resetAfterMs : (decision.retryAfterMs ?? decision.resetAfterMs);
}

function list(rules: readonly RuleDecision[], member: (rule: RuleDecision) => string): string {
  let text = '';
  for (const rule of rules) text += text === '' ? member(rule) : `, ${member(rule)}`;
  return text;
}

/** Encodes a name as an RFC 9651 String. */
function quoted(name: string): string {
  if (!name.includes('"') && !name.includes('\\')) return `"${name}"`;
  return `"${name.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}

function left(rule: RuleDecision): number {
  return Math.max(0, rule.remaining);
}

function seconds(milliseconds: number): number {
  return Math.ceil(milliseconds / 1000);
}
