import { Inject, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { RouteLimit } from '../request/route-limit.js';
import { Warnings } from '../warnings.js';
import { ClientAddressCheck, TRUSTS_ALL } from './client-address-check.js';
import { HeaderCheck } from './header-check.js';
import { trustsEveryProxy } from './proxy-trust.js';
import { UserCheck } from './user-check.js';

/**
 * Checks requests for signs that the subject is not the intended one, and warns. The requests of a rule are checked
 * only until all its checks are finished.
 */
@Injectable()
export class SubjectChecks {
  private readonly address: ClientAddressCheck;
  private readonly user: UserCheck;
  /** By function in `by`: shared by all rules and routes, since one request with a user is enough. */
  private readonly functions = new Map<unknown, UserCheck>();
  private readonly headers = new Map<string, HeaderCheck>();
  private countsByAddress = false;

  constructor(
    @Inject(Warnings) private readonly warnings: Warnings,
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
  ) {
    this.address = new ClientAddressCheck(warnings);
    this.user = new UserCheck(warnings);
  }

  /** Checks the requests of a rule from now on. */
  add(limit: RouteLimit): void {
    const { checks, needsAddress, sources, path, name, outcomeOfMissing } = limit;
    const { warnings } = this;
    // A proxy that reports the address in a header of its own need not be trusted.
    const isRead = needsAddress && sources.addressHeaders.length === 0;
    this.countsByAddress ||= isRead;
    if (isRead) checks.add(this.address);
    if (sources.user) {
      limit.checkMissing = (request) => this.user.seeMissing(request, path, outcomeOfMissing);
      if (warnings.isPending('RL_USER_AFTER_GUARD')) checks.add(this.user);
    }
    if (warnings.isPending('RL_USER_AFTER_GUARD', name)) {
      for (const reader of sources.functions) {
        checks.add(entryOf(this.functions, reader, () => new UserCheck(warnings, reader)));
      }
    }
    for (const header of [...sources.headers, ...sources.addressHeaders]) {
      const codes = ['RL_HEADER_NEVER_SEEN', 'RL_HEADER_IS_ADDRESS'] as const;
      if (!codes.some((code) => warnings.isPending(code, header))) continue;
      const isAddress = sources.addressHeaders.includes(header);
      checks.add(
        entryOf(this.headers, `${header} ${isAddress}`, () => new HeaderCheck(warnings, header, isAddress)),
      );
    }
  }

  /** Warns at start if the framework is configured to trust every proxy. */
  checkTrust(): void {
    const { httpAdapter } = this.host;
    if (!this.countsByAddress || !httpAdapter) return;
    if (trustsEveryProxy(httpAdapter.getType(), httpAdapter.getInstance())) {
      this.warnings.warn('RL_TRUST_PROXY_ALL', TRUSTS_ALL);
    }
  }
}

/** Returns the entry of a key, creating it if necessary. */
function entryOf<Key, Value>(entries: Map<Key, Value>, key: Key, create: () => Value): Value {
  const known = entries.get(key);
  if (known !== undefined) return known;
  const entry = create();
  entries.set(key, entry);
  return entry;
}
