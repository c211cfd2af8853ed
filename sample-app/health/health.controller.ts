import { Controller, Get } from '@nestjs/common';
import { SkipRateLimit } from 'nestjs-redis-rate-limit';

@Controller('health')
export class HealthController {
  /** For the load balancer, which asks from one address and often. */
  @SkipRateLimit()
  @Get()
  health() {
    return { status: 'ok' };
  }
}
