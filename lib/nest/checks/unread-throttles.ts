import type { Type } from '@nestjs/common';
import type { ApplicationConfig, ModulesContainer } from '@nestjs/core';

/** The prefix of the metadata of `@Throttle` and `@SkipThrottle`. */
const METADATA = 'THROTTLER:';

/** Finds `@Throttle` of @nestjs/throttler in an application where no guard reads it: its limits were lost in a migration. */
export class UnreadThrottles {
  private readonly isRead: boolean;

  constructor(modules: ModulesContainer, config: ApplicationConfig) {
    const wrappers = [...modules.values()].flatMap(({ providers, injectables }) => [
      ...providers.values(),
      ...injectables.values(),
    ]);
    const types = wrappers.map(({ metatype }) => metatype);
    const instances = config.getGlobalGuards().map((guard) => guard.constructor);
    this.isRead = [...types, ...instances].some((type) => isThrottlerGuard(type));
  }

  /**
   * Returns the problem of a limited handler with such a decorator; `undefined` if there is none.
   *
   * @param types its class and those that it extends
   */
  problemOf(handler: object, types: readonly Type[], owner: string): string | undefined {
    if (this.isRead) return undefined;
    const place = [handler, ...types].find((each) =>
      Reflect.getOwnMetadataKeys(each).some((key) => String(key).startsWith(METADATA)),
    );
    if (!place) return undefined;
    const name = place === handler ? owner : (place as Type).name;
    return `@Throttle on ${name}: no guard of @nestjs/throttler reads it; write @RateLimit, or run npx nestjs-redis-rate-limit migrate`;
  }
}

function isThrottlerGuard(type: unknown): boolean {
  for (let each = type; typeof each === 'function'; each = Object.getPrototypeOf(each) as unknown) {
    if (each.name === 'ThrottlerGuard') return true;
  }
  return false;
}
