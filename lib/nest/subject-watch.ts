import { Inject, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { AddressCheck, TRUSTS_ALL } from './address-check.js';
import { WITHOUT_CLIENT, type Exchange } from './exchange.js';
import { HeaderCheck } from './header-check.js';
import { trustsEveryProxy } from './proxy-trust.js';
import type { RouteLimit } from './route-limit.js';
import { UserCheck } from './user-check.js';
import { Warnings } from './warnings.js';

/** Looks at a request; true once nothing is left to find out. */
type Check = (exchange: Exchange) => boolean;

/**
 * Watches the requests of rules for signs that the subject is not the one meant, and warns. A rule is
 * watched only until each of its warnings is decided.
 */
@Injectable()
export class SubjectWatch {
  private readonly address: AddressCheck;
  private readonly user: UserCheck;
  private readonly headers = new Map<string, HeaderCheck>();
  private countsByAddress = false;

  constructor(
    @Inject(Warnings) private readonly warnings: Warnings,
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
  ) {
    this.address = new AddressCheck(warnings);
    this.user = new UserCheck(warnings);
  }

  /** Begins to watch the requests of a rule. */
  follow(limit: RouteLimit): void {
    this.countsByAddress ||= limit.needsAddress;
    let checks = this.checksFor(limit);
    if (checks.length === 0) return;
    limit.watch = (exchange) => {
      checks = checks.filter((check) => !check(exchange));
      if (checks.length === 0) limit.watch = undefined;
    };
  }

  /** Warns at start if the framework is already set to trust every proxy. */
  checkTrust(): void {
    const { httpAdapter } = this.host;
    if (!this.countsByAddress || !httpAdapter) return;
    if (trustsEveryProxy(httpAdapter.getType(), httpAdapter.getInstance())) {
      this.warnings.warn('RL_TRUST_PROXY_ALL', TRUSTS_ALL);
    }
  }

  private checksFor({ needsAddress, sources, path }: RouteLimit): Check[] {
    const { warnings } = this;
    const checks: Check[] = [];
    if (needsAddress) checks.push((exchange) => this.seeTransport(exchange, path));
    if (
      needsAddress &&
      (warnings.isPending('RL_FORWARDED_UNTRUSTED') || warnings.isPending('RL_TRUST_PROXY_ALL'))
    ) {
      checks.push((exchange) => this.address.see(exchange));
    }
    if (sources.user && warnings.isPending('RL_USER_AFTER_GUARD')) {
      checks.push((exchange) => this.user.see(exchange, path));
    }
    for (const header of sources.headers) {
      const check = this.headerCheck(header);
      if (warnings.isPending('RL_HEADER_NEVER_SEEN', header))
        checks.push((exchange) => check.see(exchange, path));
    }
    return checks;
  }

  /** One request shows what brings the requests of a route. */
  private seeTransport({ request }: Exchange, rule: string): boolean {
    if (request === WITHOUT_CLIENT) {
      this.warnings.warn(
        'RL_CALLERS_TOGETHER',
        `${rule} counts by IP, and the transport of its handler has no client addresses, so all callers share ` +
          "one counter. Set by: 'everyone' if that is meant, or a function that finds the subject in the message.",
      );
    }
    return true;
  }

  private headerCheck(header: string): HeaderCheck {
    const check = this.headers.get(header) ?? new HeaderCheck(this.warnings, header);
    this.headers.set(header, check);
    return check;
  }
}
