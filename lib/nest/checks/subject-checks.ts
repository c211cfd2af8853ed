import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { RouteLimit } from '../request/route-limit.js';
import { Warnings } from '../warnings.js';
import { ClientAddressCheck, TRUSTS_ALL, trustsEveryProxy } from './client-address-check.js';
import type { IdentityChecks } from './identity-checks.js';

/**
 * Checks requests for signs that the subject is not the intended one, and warns. The requests of a rule are checked
 * only until all its checks are finished.
 */
@Injectable()
export class SubjectChecks implements OnApplicationBootstrap {
  private readonly address: ClientAddressCheck;
  /** Absent until a rule counts by a user or a header, or has a function. */
  private identities: Promise<IdentityChecks> | undefined;
  private countsByAddress = false;

  constructor(
    @Inject(Warnings) private readonly warnings: Warnings,
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
  ) {
    this.address = new ClientAddressCheck(warnings);
  }

  /** Checks the requests of a rule from now on, or as soon as the checks are loaded. */
  add(limit: RouteLimit): void {
    const { checks, needsAddress, parts, readers } = limit;
    const { addressHeaders, headers, user } = parts;
    // A proxy that reports the address in a header of its own need not be trusted.
    this.countsByAddress ||= needsAddress && addressHeaders.length === 0;
    if (needsAddress || addressHeaders.length > 0) checks.add(this.address);
    if (!user && [...readers, ...headers, ...addressHeaders].length === 0) return;
    this.identities ??= import('./identity-checks.js').then(
      ({ IdentityChecks }) => new IdentityChecks(this.warnings),
    );
    this.identities.then((identities) => identities.add(limit)).catch(() => undefined); // onApplicationBootstrap() rejects.
  }

  /** Loads the checks that the rules need, and warns if the framework is configured to trust every proxy. */
  async onApplicationBootstrap(): Promise<void> {
    await this.identities;
    const { httpAdapter } = this.host;
    if (!this.countsByAddress || !httpAdapter) return;
    if (trustsEveryProxy(httpAdapter.getType(), httpAdapter.getInstance())) {
      this.warnings.warn('RL_TRUST_PROXY_ALL', TRUSTS_ALL);
    }
  }
}
