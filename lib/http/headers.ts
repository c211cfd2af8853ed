import { compareStrictness, hasFigures, type Decision, type RuleDecision } from '../contracts/decision.js';

/**
 * Response header format: a draft of the IETF's RateLimit fields, `X-RateLimit-*` (`'legacy'`), or those of
 * `@nestjs/throttler`: `X-RateLimit-*` for each rule, with its name as a suffix and times in seconds to go
 * (`'throttler'`).
 */
export type HeaderStyle = keyof typeof STYLES;

const STYLES = { 'draft-10': draft10, 'draft-7': draft7, 'draft-6': draft6, legacy, throttler };

export const HEADER_STYLES = Object.keys(STYLES) as readonly HeaderStyle[];

/** The header fields of all styles. */
export const HEADER_FIELDS: readonly string[] = [
  ...['RateLimit-Policy', 'RateLimit', 'RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'],
  ...['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'],
];

export type Header = [name: string, value: string];

/**
 * Returns the response headers for a decision, in each of the styles, with `Retry-After` if it is denied.
 *
 * @param styles must not conflict, see `headerStyleConflict`; ignored for a decision that was not counted
 * @param now returns milliseconds since the epoch, for `'legacy'`, which contains an instant
 */
export function rateLimitHeaders(
  decision: Decision,
  styles: readonly HeaderStyle[],
  now: () => number = Date.now,
): Header[] {
  const headers: Header[] = [];
  if (decision.decisions.every(({ shadow }) => shadow)) return headers;
  const isCounted = decision.fallback === undefined || hasFigures(decision);
  for (const style of isCounted ? styles : []) {
    STYLES[style](decision, headers, now);
  }
  if (!decision.allowed && decision.retryAfterMs !== null) {
    headers.push(['Retry-After', `${seconds(decision.retryAfterMs)}`]);
  }
  return headers;
}

/** Returns why these styles conflict; `undefined` if they do not. */
export function headerStyleConflict(styles: readonly HeaderStyle[]): string | undefined {
  const drafts = styles.filter((style) => style.startsWith('draft')).length;
  if (drafts <= 1 && styles.length - drafts <= 1) return undefined;
  const given = styles.map((style) => `"${style}"`).join(', ');
  return `got ${given}; allowed: one of "draft-10", "draft-7" and "draft-6", which all write RateLimit-Policy, and one of "legacy" and "throttler"`;
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

function draft10(decision: Decision, headers: Header[]): void {
  const rules = counted(decision);
  headers.push(
    ['RateLimit-Policy', list(rules, namedPolicy)],
    ['RateLimit', list(rules, decision.allowed ? quotaWhenAllowed : quotaWhenDenied)],
  );
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

function legacy(decision: Decision, headers: Header[], now: () => number): void {
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

/** Omits `w` for a window under a second, which the draft cannot express. */
function namedPolicy(rule: RuleDecision): string {
  const named = `${quoted(rule.rule)};q=${rule.limit}`;
  return rule.windowMs < 1000 ? named : `${named};w=${seconds(rule.windowMs)}`;
}

/** Omits `concurrency` rules: the drafts up to 7 require `w`, and these rules have no window. */
function policies(decision: Decision): Header[] {
  const windowed = counted(decision).filter(({ windowMs }) => windowMs > 0);
  if (windowed.length === 0) return [];
  return [['RateLimit-Policy', list(windowed, ({ limit, windowMs }) => `${limit};w=${seconds(windowMs)}`)]];
}

function quotaWhenAllowed(rule: RuleDecision): string {
  return `${quoted(rule.rule)};r=${left(rule)};t=${effectiveWindow(rule)}`;
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

/** Omits `t` for rules that allow, since `Retry-After` must not be earlier than any `t`. */
function quotaWhenDenied(rule: RuleDecision): string {
  const quota = `${quoted(rule.rule)};r=${left(rule)}`;
  return rule.allowed || rule.retryAfterMs === null ? quota : `${quota};t=${seconds(rule.retryAfterMs)}`;
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
