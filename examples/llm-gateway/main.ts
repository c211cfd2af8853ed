import 'reflect-metadata';
import { Body, Controller, Headers, Module, Post, Res } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  RateLimitEvents,
  RateLimitExceededException,
  RateLimitModule,
  RateLimitService,
  SkipRateLimit,
} from 'nestjs-redis-rate-limit';
import type { ServerResponse } from 'node:http';

const onDemand = {
  tokens: { window: '1m', limit: 1_000, algorithm: 'gcra', by: 'api-key' },
  requests: { window: '1m', limit: 20, by: 'api-key' },
  streams: { algorithm: 'concurrency', limit: 2, by: 'api-key' },
  month: { window: 'month', limit: 100_000, algorithm: 'fixed-window', by: 'api-key', alerts: [0.8, 1] },
} as const;

/** Stands for the model: most chunks of a provider have no usage. */
async function* model(words: number): AsyncGenerator<{ text: string; tokens: number | null }> {
  for (let nth = 1; nth <= words; nth += 1) yield { text: 'word ', tokens: nth % 10 === 0 ? nth : null };
}

@Controller()
class ChatController {
  constructor(private readonly limits: RateLimitService) {}

  @SkipRateLimit()
  @Post('chat')
  async chat(
    @Headers('x-api-key') key: string,
    @Body() { prompt, words }: { prompt: string; words: number },
    @Res() response: ServerResponse,
  ) {
    const estimate = Math.ceil(prompt.length / 4) + 100; // four characters a token, and a short answer
    await using budget = await this.limits.reserve(['tokens', 'requests', 'streams', 'month'], key, {
      cost: { tokens: estimate, month: estimate },
    });
    if (!budget.allowed) throw new RateLimitExceededException(budget.decision);
    let total = 0;
    for await (const { text, tokens } of model(words)) {
      total += 1;
      response.write(text);
      if (!budget.used({ tokens, month: tokens })) break; // nothing is left: the answer ends early
    }
    await budget.settle({ tokens: total, month: total });
    response.end();
  }
}

@Module({
  imports: [RateLimitModule.forRoot({ redis: process.env.REDIS_URL, onDemand })],
  controllers: [ChatController],
})
class AppModule {}

const app = await NestFactory.create(AppModule, { logger: ['warn', 'error'] });
app.get(RateLimitEvents).on('threshold', ({ rule, threshold }) => {
  console.log(`A customer has used ${100 * threshold} % of ${rule}`); // send a mail to the customer instead
});
await app.listen(process.env.PORT ?? 3000);
console.log(`Listening on ${await app.getUrl()}`);
