import { STATUS_CODES } from 'node:http';
import type { Decision, RuleDecision } from '../contracts/decision.js';
import { strictestFirst } from './headers.js';

/** The content type of an RFC 9457 body, with the `charset` that Express and Fastify would add to each response. */
export const PROBLEM_JSON = 'application/problem+json; charset=utf-8';

/** The body of a 429 or 503 as RFC 9457 defines it, with the problem types of the RateLimit draft. */
export interface ProblemDetails {
  /** URI of the problem type, such as `https://iana.org/assignments/http-problem-types#quota-exceeded`. */
  readonly type: string;
  /** Short name of the problem type. */
  readonly title: string;
  /** Status of the response. */
  readonly status: number;
  /** One sentence in English: the rules that denied, and how long to wait. */
  readonly detail: string;
  /** Names of the rules that denied, the strictest first. */
  readonly 'violated-policies': readonly string[];
  /** Milliseconds until the same request would be allowed; `null` if it never would. */
  readonly retryAfterMs: number | null;
  /** The id of the denial, as `#` and 12 characters; absent if the decision is not one of the limiter. */
  readonly instance?: string;
}

/** The type and the title of each status. */
const PROBLEMS = {
  429: ['quota-exceeded', 'Quota exceeded'],
  503: ['temporary-reduced-capacity', 'Temporarily reduced capacity'],
} as const;

/** Returns the body of a 429: the rules that denied, with a sentence on what they allow and how long to wait. */
export function problemDetails(decision: Decision, detail = detailOf(decision)): ProblemDetails {
  return detailsOf(429, decision, detail);
}

/** Returns the body of a 503: the limits could not be checked, which is not the client's fault. */
export function unavailableDetails(decision: Decision): ProblemDetails {
  const detail = `The rate limit cannot be checked at the moment; ${advice(decision.retryAfterMs)}.`;
  return detailsOf(503, decision, detail);
}

function detailsOf(status: keyof typeof PROBLEMS, decision: Decision, detail: string): ProblemDetails {
  const [type, title] = PROBLEMS[status];
  return {
    type: `https://iana.org/assignments/http-problem-types#${type}`,
    title,
    status,
    detail,
    'violated-policies': violatedPolicies(decision),
    retryAfterMs: decision.retryAfterMs,
    ...instanceOf(decision),
  };
}

/** Returns problem details in the form of Nest's own exceptions. */
export function nestBody({ status, detail }: ProblemDetails): object {
  return { statusCode: status, message: detail, error: STATUS_CODES[status]! };
}

/** The `extensions` of the GraphQL error of a denial. */
export interface DenialExtensions extends Record<string, unknown> {
  /** `'SERVICE_UNAVAILABLE'` if the limits could not be checked. */
  readonly code: 'TOO_MANY_REQUESTS' | 'SERVICE_UNAVAILABLE';
  /** Milliseconds until the same request would be allowed; `null` if it never would. */
  readonly retryAfterMs: number | null;
  /** Names of the rules that denied, the strictest first. */
  readonly violatedPolicies: readonly string[];
  /** The id of the denial, as `#` and 12 characters; absent if the decision is not one of the limiter. */
  readonly instance?: string;
}

/** Returns the `extensions` of the GraphQL error of a denial. */
export function denialExtensions(code: DenialExtensions['code'], decision: Decision): DenialExtensions {
  const violated = violatedPolicies(decision);
  return { code, retryAfterMs: decision.retryAfterMs, violatedPolicies: violated, ...instanceOf(decision) };
}

/** A reference by the fragment alone: a text without `#` would be a path relative to the request. */
function instanceOf({ id }: Decision): { readonly instance?: string } {
  return id === undefined ? {} : { instance: `#${id}` };
}

function violatedPolicies(decision: Decision): readonly string[] {
  const names: string[] = [];
  for (const { allowed, rule } of strictestFirst(decision)) if (!allowed) names.push(rule);
  return names;
}

function detailOf(decision: Decision): string {
  let limits = '';
  for (const rule of strictestFirst(decision)) {
    if (!rule.allowed) limits += limits === '' ? `Rule ${limitOf(rule)}` : ` and rule ${limitOf(rule)}`;
  }
  return `${limits}; ${advice(decision.retryAfterMs, decision.limit > 0)}.`;
}

function limitOf({ rule, limit, windowMs, unit }: RuleDecision): string {
  const within = windowMs > 0 ? ` per ${format(windowMs)}` : limit > 0 ? ' at a time' : '';
  return `"${rule}" allows ${limit}${unit === undefined ? '' : ` ${unit}`}${within}`;
}

/** @param isTooLarge whether a request that never fits is one that takes more permits than there can be */
function advice(retryAfterMs: number | null, isTooLarge = false): string {
  if (retryAfterMs !== null) return `try again in ${format(roundedWait(retryAfterMs))}`;
  return isTooLarge ? 'this request takes more at once, so ask for less' : 'waiting will not help';
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** The largest first. */
const UNITS = Object.entries({ d: 24 * HOUR, h: HOUR, m: MINUTE });

/** Rounds a wait up for readers: to seconds below two minutes, to minutes below two hours, otherwise to hours. */
function roundedWait(milliseconds: number): number {
  const unit = milliseconds < 2 * MINUTE ? SECOND : milliseconds < 2 * HOUR ? MINUTE : HOUR;
  return Math.ceil(milliseconds / unit) * unit;
}

/** Formats a time in the largest unit that divides it. Times above a second are rounded up to whole seconds. */
function format(milliseconds: number): string {
  if (milliseconds < SECOND && milliseconds > 0) return `${milliseconds} ms`;
  const rounded = Math.ceil(milliseconds / SECOND) * SECOND;
  const [unit, size] = UNITS.find(([, each]) => rounded > 0 && rounded % each === 0) ?? ['s', SECOND];
  return `${rounded / size} ${unit}`;
}
