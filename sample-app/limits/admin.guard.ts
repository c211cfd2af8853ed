import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';

/** Allows the user `admin`. An application checks its own roles here. */
@Injectable()
export class AdminGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { user } = context.switchToHttp().getRequest<{ user?: { id?: string } }>();
    return user?.id === 'admin';
  }
}
