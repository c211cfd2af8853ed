import type { Decision, RuleDecision } from '../contracts/decision.js';
import { rejection, type OptionCheck } from '../contracts/options.js';
import { quoted as quotedNames } from '../contracts/rate-limit-config.error.js';
import {
  counted,
  formatOf,
  formats,
  HEADER_STYLES,
  isDraft,
  left,
  list,
  quoted,
  seconds,
  type Header,
  type HeaderContext,
  type HeaderStyle,
} from './headers.js';

/** The permits that a request took: none if it is denied. */
function cost({ rule }: RuleDecision, decision: Decision, { costOf }: HeaderContext): string {
  if (!costOf) return '';
  return `;c=${decision.allowed ? costOf(decision, rule) : 0}`;
}

const WITH_COSTS = formatOf('a', 'w', cost);

/** The dimensions of partitions that a client knows, by what a rule counts by. */
const DIMENSIONS: Readonly<Record<string, string>> = { user: 'user_id', 'api-key': 'client_id' };

function draft12(decision: Decision, headers: Header[], context: HeaderContext): void {
  WITH_COSTS(decision, headers, context);
  const { sourceOf } = context;
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

/** Omits `concurrency` rules: the drafts up to 7 require `w`, and these rules have no window. */
function policies(decision: Decision): Header[] {
  const windowed = counted(decision).filter(({ windowMs }) => windowMs > 0);
  if (windowed.length === 0) return [];
  return [['RateLimit-Policy', list(windowed, ({ limit, windowMs }) => `${limit};w=${seconds(windowMs)}`)]];
}

/** The drafts up to 7 require the same time here and in `Retry-After`. */
function resetMs(decision: Decision): number {
  return decision.allowed ? decision.resetAfterMs : (decision.retryAfterMs ?? decision.resetAfterMs);
}

Object.assign(formats, { 'draft-12': draft12, 'draft-7': draft7, 'draft-6': draft6, legacy, throttler });

/** Returns why styles conflict; `undefined` if they do not, or are none. */
function conflictIn(value: unknown): string | undefined {
  if (value === false || !isHeaders(value)) return undefined;
  const styles = [value as HeaderStyle].flat();
  const drafts = styles.filter(isDraft).length;
  if (drafts <= 1 && styles.length - drafts <= 1) return undefined;
  const known = quotedNames(HEADER_STYLES.filter(isDraft));
  return `got ${quotedNames(styles)}; allowed: one of ${known}, which all write RateLimit-Policy, and one of "legacy" and "throttler"`;
}

function isHeaders(value: unknown): boolean {
  return value === false || [value].flat().every((style) => HEADER_STYLES.includes(style as HeaderStyle));
}

/** The check of the option `headers`. */
export const HEADERS: OptionCheck = {
  allowed: `${quotedNames(HEADER_STYLES)}, a list of these, or false`,
  accepts: (value) => isHeaders(value) && conflictIn(value) === undefined,
  problems: (value, path) => {
    const conflict = conflictIn(value);
    return [conflict === undefined ? rejection(path, value, HEADERS) : `${path}: ${conflict}`];
  },
};
