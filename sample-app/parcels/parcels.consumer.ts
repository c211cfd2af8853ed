import { Controller } from '@nestjs/common';
import { MessagePattern, Payload } from '@nestjs/microservices';
import { RateLimit } from 'nestjs-redis-rate-limit';

interface Query {
  readonly tenant: string;
}

@Controller()
export class ParcelsConsumer {
  /** Two per minute for each tenant: a message has no client address. */
  @RateLimit({
    name: 'parcels',
    window: '1m',
    limit: 2,
    by: (context) => context.switchToRpc().getData<Query>().tenant,
  })
  @MessagePattern('parcels.find')
  find(@Payload() { tenant }: Query): string {
    return `parcels of ${tenant}`;
  }
}
