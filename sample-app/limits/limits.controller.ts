import {
  BadRequestException,
  Body,
  ConflictException,
  Controller,
  Delete,
  Get,
  Inject,
  Param,
  Put,
  UseGuards,
} from '@nestjs/common';
import {
  RateLimitConfigError,
  RateLimitConflictError,
  RateLimitService,
  SkipRateLimit,
  type LiveRuleFields,
} from 'nestjs-redis-rate-limit';
import { AdminGuard } from './admin.guard.js';

/** The body of a change: the fields, and why and how long they apply. */
type Change = { readonly fields: LiveRuleFields } & Omit<
  Parameters<RateLimitService['rules']['set']>[2],
  'by'
>;

/** Changes limits while the application runs. */
@UseGuards(AdminGuard)
@SkipRateLimit()
@Controller('limits')
export class LimitsController {
  constructor(@Inject(RateLimitService) private readonly limits: RateLimitService) {}

  /** Every rule, with the origin of each field. */
  @Get()
  list() {
    return this.limits.rules.list();
  }

  /** Who has changed what, when and why. */
  @Get('history')
  history() {
    return this.limits.rules.history();
  }

  @Put(':rule')
  set(@Param('rule') rule: string, @Body() { fields, ...options }: Change) {
    return explained(this.limits.rules.set(rule, fields, { ...options, by: 'admin' }));
  }

  @Delete(':rule')
  unset(@Param('rule') rule: string) {
    return explained(this.limits.rules.unset(rule, { by: 'admin' }));
  }
}

/** Answers 400 to a wrong change, and 409 to a stale one, with the reason. */
async function explained(change: Promise<number>) {
  try {
    return { version: await change };
  } catch (error) {
    if (error instanceof RateLimitConfigError) throw new BadRequestException(error.problems);
    if (error instanceof RateLimitConflictError) throw new ConflictException(error.message);
    throw error;
  }
}
