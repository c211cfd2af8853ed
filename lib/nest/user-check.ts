import { userSubject } from '../http/subject.js';
import { afterResponse } from './after-response.js';
import type { Exchange } from './exchange.js';
import type { Warnings } from './warnings.js';

/** After so many requests that never got a user, the application has none, or gives them in another way. */
const WITHOUT_USER = 1000;

/** Finds out whether users are set only after the rate limit guard has run. */
export class UserCheck {
  private isDecided = false;
  private without = 0;

  constructor(private readonly warnings: Warnings) {}

  /** Looks at a request, and at its end once more; true once nothing is left to find out. */
  see({ request, response }: Exchange, rule: string): boolean {
    if (this.isDecided) return true;
    this.without += 1;
    this.isDecided = userSubject(request) !== undefined || this.without > WITHOUT_USER;
    if (!this.isDecided && response) afterResponse(response, () => this.seeEnd(request, rule));
    return this.isDecided;
  }

  private seeEnd(request: Exchange['request'], rule: string): void {
    if (this.isDecided || !hasUser(request)) return;
    this.isDecided = true;
    this.warnings.warn(
      'RL_USER_AFTER_GUARD',
      `${rule} counts by user and found none, but \`request.user\` was set after the rate limit guard, so ` +
        'users are counted by IP. Let the authentication run first: as middleware, as an APP_GUARD of a module ' +
        'that is imported before RateLimitModule, or with registerGuard: false and ' +
        '@UseGuards(AuthGuard, RateLimitGuard).',
    );
  }
}

/** Runs as a listener of the response, where an error of the application's getter would end the process. */
function hasUser(request: Exchange['request']): boolean {
  try {
    return userSubject(request) !== undefined;
  } catch {
    return false;
  }
}
