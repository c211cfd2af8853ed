import { Query, Resolver } from '@nestjs/graphql';
import { RateLimit } from 'nestjs-redis-rate-limit';

@Resolver()
export class CatalogResolver {
  /** Three at once, then one every ten seconds. */
  @RateLimit({ name: 'catalog', window: '30s', limit: 3, algorithm: 'gcra' })
  @Query(() => [String], { nullable: true })
  catalog(): string[] {
    return ['black tea', 'green tea', 'filter coffee', 'mint'];
  }
}
