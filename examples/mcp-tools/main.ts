import 'reflect-metadata';
import { Body, Controller, HttpCode, Module, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { RateLimitModule, RateLimitService } from 'nestjs-redis-rate-limit';

interface ToolCall {
  id: number | string;
  method: string;
  params?: { name?: string };
}

@Controller('mcp')
class McpController {
  constructor(private readonly limits: RateLimitService) {}

  /** All tools have one URL, so that the tool is counted here, and a denial is an error of JSON-RPC. */
  @Post()
  @HttpCode(200)
  async call(@Body() { id, method, params }: ToolCall) {
    if (method !== 'tools/call') return { jsonrpc: '2.0', id, result: {} };
    const tool = params?.name === 'search' ? 'search' : 'other-tools';
    const decision = await this.limits.consume(tool, 'session-1');
    if (!decision.allowed) {
      const { retryAfterMs } = decision;
      return {
        jsonrpc: '2.0',
        id,
        error: { code: -32029, message: 'Too many calls', data: { retryAfterMs } },
      };
    }
    return { jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'found' }] } };
  }
}

@Module({
  imports: [
    RateLimitModule.forRoot({
      redis: process.env.REDIS_URL,
      onDemand: {
        search: { window: '1m', limit: 2, by: 'mcp-session-id' },
        'other-tools': { window: '1m', limit: 30, by: 'mcp-session-id' },
      },
    }),
  ],
  controllers: [McpController],
})
class AppModule {}

const app = await NestFactory.create(AppModule, { logger: ['warn', 'error'] });
await app.listen(process.env.PORT ?? 3000);
console.log(`Listening on ${await app.getUrl()}`);
