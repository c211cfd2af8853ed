import { Controller, Get, Post } from '@nestjs/common';
import { RateLimit } from 'nestjs-redis-rate-limit';

@Controller('orders')
export class OrdersController {
  private placed = 0;

  /** Three at once, then one every ten seconds. Counts by user, and by IP without one. */
  @RateLimit({
    name: 'create-order',
    window: '1m',
    limit: 6,
    algorithm: 'token-bucket',
    burst: 3,
    by: 'user',
  })
  @Post()
  create() {
    this.placed += 1;
    return { order: this.placed };
  }

  /** Has only the module's rule `default`. */
  @Get()
  count() {
    return { placed: this.placed };
  }
}
