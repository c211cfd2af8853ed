import type { AppliedLimit, Check } from '../request/applied-limit.js';
import type { Exchange } from '../request/exchange.js';
import type { Warnings } from '../warnings.js';

/** After this many requests without the header, the check assumes that it is never sent. */
const WITHOUT_HEADER = 1000;

/** Detects that the header that rules count by is never sent. */
export class HeaderCheck implements Check {
  private isDecided = false;
  private without = 0;

  constructor(
    private readonly warnings: Warnings,
    private readonly header: string,
  ) {}

  see({ request }: Exchange, { path }: AppliedLimit): boolean {
    if (this.isDecided) return true;
    if (request.headers?.[this.header]) return (this.isDecided = true);
    this.without += 1;
    if (this.without < WITHOUT_HEADER) return false;
    this.warnings.warn(
      'RL_HEADER_NEVER_SEEN',
      `${path} counts by the header "${this.header}", and none of ${WITHOUT_HEADER} requests had it. Correct ` +
        'the name in `by`, or let the proxy pass the header on.',
      this.header,
    );
    return (this.isDecided = true);
  }
}
