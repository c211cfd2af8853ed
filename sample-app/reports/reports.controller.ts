import { Controller, Get } from '@nestjs/common';
import { RateLimit } from 'nestjs-redis-rate-limit';

/**
 * Three rules, all or nothing: a request that one of them denies is charged to none.
 *
 * A burst of three and one a second; the module's rule `default` with a lower limit; and a daily quota for
 * all clients together.
 */
@RateLimit({ name: 'burst', window: '1s', limit: 1, algorithm: 'token-bucket', burst: 3 })
@RateLimit({ limit: 20 })
@RateLimit({
  name: 'daily',
  window: '1d',
  limit: 1000,
  algorithm: 'fixed-window',
  align: 'clock',
  by: 'everyone',
})
@Controller('reports')
export class ReportsController {
  @Get()
  report() {
    return { orders: 42, revenue: 1337 };
  }
}
