import { Logger } from '@nestjs/common';
import { MessageBody, SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { RateLimit } from 'nestjs-redis-rate-limit';

@WebSocketGateway()
export class ChatGateway {
  private readonly logger = new Logger(ChatGateway.name);

  /** The handshake of a denied client fails with problem details. */
  @RateLimit({ name: 'connect', window: '1m', limit: 30, algorithm: 'gcra' })
  handleConnection(): void {
    this.logger.debug('A client has connected.');
  }

  /** Three at once, then one every ten seconds. */
  @RateLimit({ name: 'say', window: '30s', limit: 3, algorithm: 'gcra' })
  @SubscribeMessage('say')
  say(@MessageBody() text: string): string {
    return `said ${text}`;
  }
}
