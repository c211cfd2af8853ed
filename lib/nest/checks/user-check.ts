import type { HttpRequest } from '../../http/subject.js';
import { afterResponse } from '../../http/response-end.js';
import type { AppliedLimit, Check } from '../request/applied-limit.js';
import type { Exchange } from '../request/exchange.js';
import { hasUser, type UserReads } from '../request/user-reads.js';
import type { Warnings } from '../warnings.js';

/** After this many requests without a user, the check assumes that the application does not set `request.user`. */
const WITHOUT_USER = 1000;

const FIX =
  'but it was set after the rate limit guard, so users do not have a counter each. Let the authentication run first: ' +
  'as middleware, as an APP_GUARD of a module that is imported before RateLimitModule, or with registerGuard: false ' +
  'and @UseGuards(AuthGuard, RateLimitGuard).';

/** Detects users that are set only after the rate limit guard has run, or never. */
export class UserCheck implements Check {
  private isDecided = false;
  private without = 0;

  /** @param reader the function in `by` that returns the subject; absent for `by: 'user'` */
  constructor(
    private readonly warnings: Warnings,
    private readonly reader?: unknown,
  ) {}

  /** Checks a request, and checks it again after all guards: when its response has ended, or its handler starts. */
  see(exchange: Exchange, rule: AppliedLimit): boolean {
    const { request, response } = exchange;
    if (this.isDecided) return true;
    this.without += 1;
    const isSeen = hasUser(request);
    this.isDecided = isSeen || this.without > WITHOUT_USER;
    if (this.isDecided && !isSeen && this.reader === undefined) this.warnOfNone(rule);
    if (!this.isDecided) {
      const reads = this.reader === undefined ? undefined : exchange.watchUser();
      const see = (): void => this.seeEnd(request, rule, reads);
      if (response) afterResponse(response, see);
      else exchange.beforeHandler(see);
    }
    return this.isDecided;
  }

  /** Checks a request without a usable user under a rule with `by: 'user'`. */
  seeMissing({ user }: HttpRequest, rule: string, outcome: string): void {
    if (!user) return;
    this.warnings.warn(
      'RL_USER_WITHOUT_ID',
      `${rule} counts by user, and a request had a \`request.user\` without an id: none of id, sub, userId and ` +
        `_id is a string, a number or an object such as an ObjectId. Such a request ${outcome}. Set one of them, ` +
        'or count by a function: by: (context) => context.switchToHttp().getRequest().user.email.',
    );
  }

  private warnOfNone({ path }: AppliedLimit): void {
    this.warnings.warn(
      'RL_USER_NEVER_SEEN',
      `${path} counts by user, and none of ${WITHOUT_USER} requests had a \`request.user\`. Let the authentication ` +
        "set it before the rate limit guard, or count by something else: by: 'ip', or a function that finds the user.",
    );
  }

  private seeEnd(request: HttpRequest, { name, path }: AppliedLimit, reads: UserReads | undefined): void {
    if (this.isDecided || !hasUser(request) || reads?.has(this.reader) === false) return;
    this.isDecided = true;
    const finder = reads
      ? 'by a function, which found no `request.user`'
      : 'by user and found no `request.user`';
    this.warnings.warn('RL_USER_AFTER_GUARD', `${path} counts ${finder}, ${FIX}`, reads ? name : '');
  }
}
