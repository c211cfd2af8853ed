import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { WsAdapter } from '@nestjs/platform-ws';
import { MessageBody, SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { RateLimit, RateLimitModule } from 'nestjs-redis-rate-limit';

@WebSocketGateway({ path: '/chat' })
class ChatGateway {
  // Bursts are normal in a chat: three at once, then one every two seconds.
  @RateLimit({ window: '6s', limit: 3, algorithm: 'token-bucket' })
  @SubscribeMessage('say')
  say(@MessageBody() text: string) {
    return { event: 'said', data: text };
  }
}

@Module({
  imports: [RateLimitModule.forRoot({ redis: process.env.REDIS_URL })],
  providers: [ChatGateway],
})
class AppModule {}

const app = await NestFactory.create(AppModule, { logger: ['warn', 'error'] });
app.useWebSocketAdapter(new WsAdapter(app));
await app.listen(process.env.PORT ?? 3000);
console.log(`Listening on ${await app.getUrl()}`);
