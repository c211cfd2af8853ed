import type { Exchange } from '../request/exchange.js';
import { proxyTrust } from './proxy-trust.js';
import type { Warnings } from '../warnings.js';

/** After so many requests without a forwarding header, there is no proxy in front. */
export const WITHOUT_HEADER = 10_000;

/** A list of proxies is wrong when none of so many requests with a forwarding header came from one. */
const FROM_OTHERS = 100;

const LIST = "app.set('trust proxy', '10.0.0.0/8') on Express, trustProxy: '10.0.0.0/8' on Fastify";

export const TRUSTS_ALL =
  'The framework trusts every proxy, so a client chooses the IP that it is counted by with X-Forwarded-For. ' +
  `Trust only the addresses of your proxies: ${LIST}.`;

const TRUSTS_NONE =
  'A request has X-Forwarded-For, but the framework trusts no proxy. Behind a proxy, all clients have its IP ' +
  `and share one counter. Trust the addresses of your proxies: ${LIST}.`;

const TRUSTS_OTHERS =
  `${FROM_OTHERS} requests had X-Forwarded-For or Forwarded, and the framework used it for none, since none came ` +
  'from a proxy that it trusts (or had only Forwarded, which Express and Fastify do not read). Clients behind ' +
  `one proxy share one counter. Trust the addresses of your proxies: ${LIST}.`;

/** Finds out from requests whether the client's address is that of a proxy, or one that a client made up. */
export class AddressCheck {
  private isDecided = false;
  private isFirst = true;
  private without = 0;
  private ignored = 0;

  constructor(private readonly warnings: Warnings) {}

  /** Looks at a request; true once nothing is left to find out. */
  see({ request }: Exchange): boolean {
    if (this.isDecided) return true;
    const { headers } = request;
    const isForwarded = headers?.['x-forwarded-for'] !== undefined;
    if (this.isFirst || isForwarded || headers?.['forwarded'] !== undefined) {
      this.isFirst = false;
      this.isDecided = this.judge(request, isForwarded);
    }
    this.without += 1;
    return (this.isDecided ||= this.without >= WITHOUT_HEADER);
  }

  private judge(request: Exchange['request'], isForwarded: boolean): boolean {
    const trust = proxyTrust(request);
    if (trust === 'unknown') return false;
    if (trust === 'all') {
      this.warnings.warn('RL_TRUST_PROXY_ALL', TRUSTS_ALL);
      return true;
    }
    if (!isForwarded && request.headers?.['forwarded'] === undefined) return false;
    this.without = 0;
    if (isForwarded && trust === 'peer') return true;
    this.ignored += 1;
    if (trust === 'off') this.warnings.warn('RL_FORWARDED_UNTRUSTED', TRUSTS_NONE);
    else if (this.ignored >= FROM_OTHERS) this.warnings.warn('RL_FORWARDED_UNTRUSTED', TRUSTS_OTHERS);
    else return false;
    return true;
  }
}
