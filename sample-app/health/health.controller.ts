import { Controller, Get } from '@nestjs/common';
import { SkipRateLimit } from 'nestjs-redis-rate-limit';

@Controller('health')
export class HealthController {
  /** The load balancer calls this often, from one address. */
  @SkipRateLimit()
  @Get()
  health() {
    return { status: 'ok' };
  }
}
