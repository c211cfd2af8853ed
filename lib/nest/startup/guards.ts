import { Inject, Injectable } from '@nestjs/common';
import { ApplicationConfig, ModulesContainer } from '@nestjs/core';
import { RateLimitGuard } from '../rate-limit.guard.js';

/** Knows where the application has guards, and which of them is the rate limit guard. */
@Injectable()
export class Guards {
  constructor(
    @Inject(RateLimitGuard) private readonly guard: RateLimitGuard,
    @Inject(ApplicationConfig) private readonly config: ApplicationConfig,
    @Inject(ModulesContainer) private readonly modules: ModulesContainer,
  ) {}

  /** The guards of every route. */
  globals(): readonly unknown[] {
    return [
      ...this.config.getGlobalGuards(),
      ...this.config.getGlobalRequestGuards().map(({ instance, metatype }) => instance ?? metatype),
    ];
  }

  get hasOursGlobally(): boolean {
    return this.globals().some((guard) => this.isOurs(guard));
  }

  /** Whether the rate limit guard stands on any handler, or on every route. */
  get hasOurs(): boolean {
    if (this.hasOursGlobally) return true;
    return [...this.modules.values()].some(({ injectables }) =>
      [...injectables.values()].some(({ metatype, instance }) => this.isOurs(instance ?? metatype)),
    );
  }

  isOurs(guard: unknown): boolean {
    if (guard === this.guard || guard instanceof RateLimitGuard) return true;
    return (
      typeof guard === 'function' && (guard === RateLimitGuard || guard.prototype instanceof RateLimitGuard)
    );
  }
}
