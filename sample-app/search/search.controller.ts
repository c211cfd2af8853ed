import { Controller, Get, Query } from '@nestjs/common';
import { RateLimit } from 'nestjs-redis-rate-limit';

const CATALOG = ['black tea', 'green tea', 'filter coffee', 'mint'];

@Controller('search')
export class SearchController {
  /** Five at once, then one every two seconds. */
  @RateLimit({ name: 'search', window: '10s', limit: 5, algorithm: 'gcra' })
  @Get()
  search(@Query('q') query: unknown) {
    const words = typeof query === 'string' ? query : '';
    return { found: CATALOG.filter((product) => product.includes(words)) };
  }
}
