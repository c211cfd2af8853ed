import { Inject, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { AddressCheck, TRUSTS_ALL } from './address-check.js';
import { WITHOUT_CLIENT, type Exchange } from '../request/exchange.js';
import { HeaderCheck } from './header-check.js';
import { trustsEveryProxy } from './proxy-trust.js';
import type { RequestValues } from '../request/request-values.js';
import type { RouteLimit } from '../request/route-limit.js';
import type { SubjectResolver } from '../rules/route-rule.js';
import { isSocketRequest, SocketAddressCheck, SOCKETS } from './socket-address-check.js';
import { UserCheck } from './user-check.js';
import { Warnings } from '../warnings.js';

/** Looks at a request; true once nothing is left to find out. */
type Check = (exchange: Exchange, values: RequestValues) => boolean;

/**
 * Watches the requests of rules for signs that the subject is not the one meant, and warns. A rule is
 * watched only until each of its warnings is decided.
 */
@Injectable()
export class SubjectWatch {
  private readonly address: AddressCheck;
  private readonly socketAddress: SocketAddressCheck;
  private readonly user: UserCheck;
  private readonly functions = new WeakMap<object, UserCheck>();
  private readonly headers = new Map<string, HeaderCheck>();
  private countsByAddress = false;

  constructor(
    @Inject(Warnings) private readonly warnings: Warnings,
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
  ) {
    this.address = new AddressCheck(warnings);
    this.socketAddress = new SocketAddressCheck(warnings);
    this.user = new UserCheck(warnings);
  }

  /** Begins to watch the requests of a rule. */
  follow(limit: RouteLimit): void {
    this.countsByAddress ||= limit.needsAddress;
    const { path, outcomeOfMissing } = limit;
    if (limit.sources.user)
      limit.watchMissing = (request) => this.user.seeMissing(request, path, outcomeOfMissing);
    let checks = this.checksFor(limit);
    if (checks.length === 0) return;
    limit.watch = (exchange, values) => {
      checks = checks.filter((check) => !check(exchange, values));
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

  private checksFor(limit: RouteLimit): Check[] {
    const { needsAddress, sources, path, name } = limit;
    const { warnings } = this;
    const checks: Check[] = [];
    if (needsAddress) checks.push((exchange) => this.seeTransport(exchange, path));
    const { address, socketAddress } = this;
    const untrusted = 'RL_FORWARDED_UNTRUSTED';
    if (needsAddress && (warnings.isPending(untrusted) || warnings.isPending('RL_TRUST_PROXY_ALL'))) {
      checks.push((exchange) => isSocketRequest(exchange.request) || address.see(exchange));
    }
    if (needsAddress && warnings.isPending(untrusted, SOCKETS)) {
      checks.push((exchange) => !isSocketRequest(exchange.request) || socketAddress.see(exchange));
    }
    if (sources.user && warnings.isPending('RL_USER_AFTER_GUARD')) {
      checks.push((exchange, values) => this.user.see(exchange, limit, values));
    }
    for (const reader of sources.functions) {
      const check = this.functionCheck(reader);
      if (warnings.isPending('RL_USER_AFTER_GUARD', name))
        checks.push((exchange, values) => check.see(exchange, limit, values));
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

  /** One for all rules and routes that count by a function, since one user in time is enough. */
  private functionCheck(reader: SubjectResolver): UserCheck {
    const check = this.functions.get(reader) ?? new UserCheck(this.warnings, reader);
    this.functions.set(reader, check);
    return check;
  }

  private headerCheck(header: string): HeaderCheck {
    const check = this.headers.get(header) ?? new HeaderCheck(this.warnings, header);
    this.headers.set(header, check);
    return check;
  }
}
