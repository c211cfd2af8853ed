import { Inject, Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { ApplicationConfig, ModulesContainer } from '@nestjs/core';
import type { HandlerMethod } from '../request/routes.js';
import { enhancersOf } from '../handler-interceptor.js';
import { RateLimitGuard } from '../rate-limit.guard.js';

/** Finds the guards of the application, and the rate limit guard among them. */
@Injectable()
export class Guards {
  constructor(
    @Inject(RateLimitGuard) private readonly guard: RateLimitGuard,
    @Inject(ApplicationConfig) private readonly config: ApplicationConfig,
    @Inject(ModulesContainer) private readonly modules: ModulesContainer,
  ) {}

  /** The global guards. */
  globals(): readonly unknown[] {
    return [
      ...this.config.getGlobalGuards(),
      ...this.config.getGlobalRequestGuards().map(({ metatype }) => metatype),
    ];
  }

  /** The global rate limit guard. */
  get ours(): RateLimitGuard | undefined {
    return this.globals().find((guard) => guard instanceof RateLimitGuard);
  }

  /** The global rate limit guard; without one, that of the module. */
  get any(): RateLimitGuard {
    return this.ours ?? this.guard;
  }

  get hasOursGlobally(): boolean {
    return this.globals().some((guard) => this.isOurs(guard));
  }

  /** Whether the rate limit guard is global, or any handler has it. */
  get hasOurs(): boolean {
    if (this.hasOursGlobally) return true;
    return [...this.modules.values()].some(({ injectables }) =>
      [...injectables.values()].some(({ metatype, instance }) => this.isOurs(instance ?? metatype)),
    );
  }

  /** Whether a decorator adds the rate limit guard to a handler, or to its class. */
  hasOursOn({ type, handler }: HandlerMethod): boolean {
    return [type, handler].flatMap(guardsOn).some((guard) => this.isOurs(guard));
  }

  /** Provides the guard that `addGuard` adds to handlers, in every module. */
  provide(): void {
    const provider = { provide: HandlerGuard, useValue: new HandlerGuard(this) };
    for (const module of this.modules.values()) module.addInjectable(provider, 'guard');
  }

  private isOurs(guard: unknown): boolean {
    const instance: unknown = typeof guard === 'function' ? guard.prototype : guard;
    return guard === this.guard || guard === RateLimitGuard || instance instanceof RateLimitGuard;
  }
}

const GUARDS = '__guards__';

/**
 * The guard of the application where Nest runs no global guards: in gateways of Nest 11, and in hybrid applications.
 * Handlers have its class, since they can be part of several applications: Nest finds the instance in the module of each.
 */
class HandlerGuard implements CanActivate {
  constructor(private readonly guards?: Guards) {}

  canActivate(context: ExecutionContext): ReturnType<CanActivate['canActivate']> {
    return this.guards?.ours?.canActivate(context) ?? true;
  }
}

/** Returns the guards that the application adds to a class or handler. */
export function guardsOn(target: object): readonly unknown[] {
  return enhancersOf(target, GUARDS).filter((guard) => guard !== HandlerGuard);
}

/** Adds the application's guard to a class or handler, before Nest reads which guards it has. */
export function addGuard(target: object): void {
  Reflect.defineMetadata(GUARDS, [HandlerGuard, ...guardsOn(target)], target);
}
