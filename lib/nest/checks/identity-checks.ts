import { entryOf } from '../../contracts/entry-of.js';
import { canonicalIp } from '../../http/client-ip.js';
import { userSubject, type HttpRequest } from '../../http/subject.js';
import type { Exchange } from '../request/exchange.js';
import type { Check, RouteLimit } from '../request/route-limit.js';
import { isMissing, type SubjectOf } from '../request/subject-of.js';
import { hasUser, UserReads } from '../request/user-reads.js';
import { fixOf } from '../rules/by.js';
import type { SubjectResolver } from '../rules/route-rule.js';
import type { Warnings } from '../warnings.js';

/** After this many requests without the header, the check assumes that it is never sent. */
const WITHOUT_HEADER = 1000;

/** After this many requests whose header is an address, the check assumes that it always is. */
const WITH_ADDRESS = 3;

/** Detects that the header that rules count by is never sent, or that its values are addresses. */
class HeaderCheck implements Check {
  private isDecided = false;
  private without = 0;
  private addresses = 0;
  /** Requests that another rule has shown. */
  private readonly seen = new WeakSet<Exchange>();

  /** @param isAddress whether the rules read an address from the header */
  constructor(
    private readonly warnings: Warnings,
    private readonly header: string,
    private readonly isAddress: boolean,
  ) {}

  see(exchange: Exchange, { path }: RouteLimit): boolean {
    if (this.isDecided || this.seen.has(exchange)) return this.isDecided;
    this.seen.add(exchange);
    const value = exchange.request.headers?.[this.header];
    const isFound = this.isAddress ? isAddress(value) : Boolean(value);
    return (this.isDecided = isFound ? this.seeValue(value!, path) : this.seeNone(path));
  }

  private seeNone(path: string): boolean {
    this.without += 1;
    if (this.without < WITHOUT_HEADER) return false;
    this.warnings.warn(
      'RL_HEADER_NEVER_SEEN',
      `${path} counts by the ${this.isAddress ? 'IP in the ' : ''}header "${this.header}", and none of ${WITHOUT_HEADER} ` +
        `requests had ${this.isAddress ? 'one' : 'it'}. Correct the name in \`by\`, or let the proxy pass the header on.`,
      this.header,
    );
    return true;
  }

  private seeValue(value: string | string[], path: string): boolean {
    if (this.isAddress || !isAddress(value)) return true;
    this.addresses += 1;
    if (this.addresses < WITH_ADDRESS) return false;
    this.warnings.warn(
      'RL_HEADER_IS_ADDRESS',
      `${path} counts by the header "${this.header}", whose values are IP addresses, so that a client with an IPv6 network has a ` +
        `counter for each of its addresses; ${fixOf({ ip: this.header }) ?? `write by: { ip: '${this.header}' }, which counts by its network`}.`,
      this.header,
    );
    return true;
  }
}

function isAddress(value: string | string[] | undefined): boolean {
  return canonicalIp(value === undefined ? value : String(value).trim()) !== undefined;
}

/** After this many requests without a user, the check assumes that the application does not set `request.user`. */
const WITHOUT_USER = 1000;

const FIX =
  'Let the authentication run first: as middleware, as an APP_GUARD of a module that is imported before ' +
  'RateLimitModule, or with registerGuard: false and @UseGuards(AuthGuard, RateLimitGuard).';

/** Detects users that are set only after the rate limit guard has run, or never. */
class UserCheck implements Check {
  private isDecided = false;
  private without = 0;
  /** Requests that another rule has shown. */
  private readonly seen = new WeakSet<Exchange>();

  /** @param reader the function of rules that may read the user; absent for `by: 'user'` */
  constructor(
    private readonly warnings: Warnings,
    private readonly reader?: unknown,
  ) {}

  /** Checks a request, and checks it again at its end, after all guards. */
  see(exchange: Exchange, rule: RouteLimit): boolean {
    const { request } = exchange;
    if (this.isDecided || this.seen.has(exchange)) return this.isDecided;
    this.seen.add(exchange);
    this.without += 1;
    const isSeen = hasUser(request);
    this.isDecided = isSeen || this.without > WITHOUT_USER;
    if (this.isDecided && !isSeen && this.reader === undefined) this.warnOfNone(rule);
    if (!this.isDecided) {
      const reads = this.reader === undefined ? undefined : (exchange.userReads ??= new UserReads(request));
      const seeEnd = (): void => this.seeEnd(request, rule, reads);
      if (!reads) exchange.onEnd(seeEnd);
      else if (reads.atEnd.push(seeEnd) === 1) exchange.onEnd(() => reads.atEnd.forEach((see) => see()));
    }
    return this.isDecided;
  }

  /** Checks a request without a usable user under a rule with `by: 'user'`. */
  seeMissing(request: HttpRequest, rule: string, outcome: string): void {
    if (!request.user || userSubject(request) !== undefined) return; // In a list, another part may be missing.
    this.warnings.warn(
      'RL_USER_WITHOUT_ID',
      `${rule} counts by user, and a request had a \`request.user\` without an id: none of id, sub, userId and ` +
        `_id is a string, a number or an object such as an ObjectId. Such a request ${outcome}. Set one of them, ` +
        'or count by a function: by: (context) => context.switchToHttp().getRequest().user.email.',
    );
  }

  private warnOfNone({ path }: RouteLimit): void {
    this.warnings.warn(
      'RL_USER_NEVER_SEEN',
      `${path} counts by user, and none of ${WITHOUT_USER} requests had a \`request.user\`. Let the authentication ` +
        "set it before the rate limit guard, or count by something else: by: 'ip', or a function that finds the user.",
    );
  }

  private seeEnd(request: HttpRequest, limit: RouteLimit, reads: UserReads | undefined): void {
    if (this.isDecided || !hasUser(request) || reads?.has(this.reader) === false) return;
    this.isDecided = true;
    const field = reads && limit.readers.find(([, reader]) => reader === this.reader)![0];
    const about = field === undefined ? '' : limit.declarationOf(field);
    const { finder, effect } = consequenceOf(field);
    const late = 'found no `request.user`, but it was set after the rate limit guard';
    this.warnings.warn('RL_USER_AFTER_GUARD', `${limit.path}${finder} ${late}, so ${effect}. ${FIX}`, about);
  }
}

/** Returns what found no user, and what follows, in words for a message. */
function consequenceOf(field: string | undefined): { readonly finder: string; readonly effect: string } {
  const effect = 'users do not have a counter each';
  if (field === undefined) return { finder: ' counts by user and', effect };
  if (field === 'by') return { finder: ' counts by a function, which', effect };
  return { finder: `.${field}: the function`, effect: 'all requests are treated as if they had no user' };
}

/** After this many requests without a subject, the check assumes that the function never finds one. */
const WITHOUT_SUBJECT = 1000;

/** Detects that a function in `by` never returns a subject. */
class FunctionCheck {
  private isDecided = false;
  private without = 0;
  /** Requests that another rule has shown. */
  private readonly seen = new WeakSet<Exchange>();

  constructor(
    private readonly warnings: Warnings,
    private readonly reader: SubjectResolver,
  ) {}

  /** Sees what the function returns for the requests of a rule until it returns a subject. */
  watch(limit: RouteLimit): void {
    const { subjectOf } = limit;
    const see = (value: unknown): void => {
      this.isDecided ||= !isMissing(value) || this.seeNone(limit);
    };
    const watched: SubjectOf = (request, exchange) => {
      const found = subjectOf(request, exchange);
      if (!this.isDecided && !this.seen.has(exchange)) {
        this.seen.add(exchange);
        const value: unknown = exchange.valueOf(this.reader); // It has been called already.
        if (value instanceof Promise) value.then(see, () => undefined);
        else see(value);
      }
      if (this.isDecided && limit.subjectOf === watched) limit.subjectOf = subjectOf;
      return found;
    };
    limit.subjectOf = watched;
  }

  private seeNone(limit: RouteLimit): boolean {
    this.without += 1;
    if (this.without < WITHOUT_SUBJECT) return false;
    this.warnings.warn(
      'RL_SUBJECT_NEVER_FOUND',
      `${limit.path} counts by a function, and it returned nothing for ${WITHOUT_SUBJECT} requests. Such a request ` +
        `${limit.outcomeOfMissing}. Correct the function in \`by\`.`,
      limit.declarationOf('by'),
    );
    return true;
  }
}

/** Checks requests for signs that the user or the header that rules count by is not the intended one. */
export class IdentityChecks {
  private readonly user: UserCheck;
  /** By function: shared by all rules and routes, since one request with a user, or a subject, is enough. */
  private readonly functions = new Map<unknown, UserCheck>();
  private readonly found = new Map<unknown, FunctionCheck>();
  private readonly headers = new Map<string, HeaderCheck>();

  constructor(private readonly warnings: Warnings) {
    this.user = new UserCheck(warnings);
  }

  /** Checks the requests of a rule from now on. */
  add(limit: RouteLimit): void {
    const { checks, parts, path, outcomeOfMissing } = limit;
    const { warnings } = this;
    if (parts.user) {
      limit.checkMissing = (request) => this.user.seeMissing(request, path, outcomeOfMissing);
      if (warnings.isPending('RL_USER_AFTER_GUARD')) checks.add(this.user);
    }
    for (const [field, reader] of limit.readers) {
      if (!warnings.isPending('RL_USER_AFTER_GUARD', limit.declarationOf(field))) continue;
      checks.add(entryOf(this.functions, reader, () => new UserCheck(warnings, reader)));
    }
    if (warnings.isPending('RL_SUBJECT_NEVER_FOUND', limit.declarationOf('by'))) {
      for (const reader of parts.functions) {
        entryOf(this.found, reader, () => new FunctionCheck(warnings, reader)).watch(limit);
      }
    }
    for (const header of [...parts.headers, ...parts.addressHeaders]) {
      const codes = ['RL_HEADER_NEVER_SEEN', 'RL_HEADER_IS_ADDRESS'] as const;
      if (!codes.some((code) => warnings.isPending(code, header))) continue;
      const isAddress = parts.addressHeaders.includes(header);
      checks.add(
        entryOf(this.headers, `${header} ${isAddress}`, () => new HeaderCheck(warnings, header, isAddress)),
      );
    }
  }
}
