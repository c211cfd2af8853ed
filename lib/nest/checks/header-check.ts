import { canonicalIp } from '../../http/client-ip.js';
import type { AppliedLimit, Check } from '../request/applied-limit.js';
import type { Exchange } from '../request/exchange.js';
import type { Warnings } from '../warnings.js';

/** After this many requests without the header, the check assumes that it is never sent. */
const WITHOUT_HEADER = 1000;

/** After this many requests whose header is an address, the check assumes that it always is. */
const WITH_ADDRESS = 3;

/** Detects that the header that rules count by is never sent, or that its values are addresses. */
export class HeaderCheck implements Check {
  private isDecided = false;
  private without = 0;
  private addresses = 0;

  /** @param isAddress whether the rules read an address from the header */
  constructor(
    private readonly warnings: Warnings,
    private readonly header: string,
    private readonly isAddress: boolean,
  ) {}

  see({ request }: Exchange, { path }: AppliedLimit): boolean {
    if (this.isDecided) return true;
    const value = request.headers?.[this.header];
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
      `${path} counts by the header "${this.header}", whose values are IP addresses: a client with an IPv6 network has a ` +
        `counter for each of its addresses. Write by: { ip: '${this.header}' }, which counts by its network.`,
      this.header,
    );
    return true;
  }
}

function isAddress(value: string | string[] | undefined): boolean {
  return canonicalIp(value === undefined ? value : String(value).trim()) !== undefined;
}
