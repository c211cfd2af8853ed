import type { CanActivate, ExecutionContext } from '@nestjs/common';
import type { Guards } from './guards.js';

const GUARDS = '__guards__';

/** The guard of the application where Nest runs no global guards: in gateways of Nest 11, and in hybrid applications. */
class HandlerGuard implements CanActivate {
  constructor(private readonly guards: Guards) {}

  canActivate(context: ExecutionContext): ReturnType<CanActivate['canActivate']> {
    return this.guards.ours?.canActivate(context) ?? true;
  }
}

/** Returns the guards that the application adds to a class or handler. */
export function guardsOn(target: object): readonly unknown[] {
  const guards = (Reflect.getMetadata(GUARDS, target) as unknown[] | undefined) ?? [];
  return guards.filter((guard) => !(guard instanceof HandlerGuard));
}

/** Adds the application's guard to a class or handler, before Nest reads which guards it has. */
export function addGuard(target: object, guards: Guards): void {
  // The guard of another application that has the same class is replaced.
  Reflect.defineMetadata(GUARDS, [new HandlerGuard(guards), ...guardsOn(target)], target);
}
