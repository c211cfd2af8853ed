import 'reflect-metadata';
import { Readable } from 'node:stream';
import { Controller, Get, Module, Param, StreamableFile } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { RateLimit, RateLimitModule } from 'nestjs-redis-rate-limit';

/** Stands for files on a disk or in a bucket. */
function* kilobytes(count: number) {
  for (let nth = 0; nth < count; nth += 1) yield Buffer.alloc(1_000, 'x');
}

@Controller('files')
class FilesController {
  @RateLimit({
    name: 'bytes',
    window: '1m',
    limit: 1_000_000,
    algorithm: 'gcra',
    unit: 'content-bytes',
    cost: 50_000, // the estimate, until the bytes that have left are known
    settle: (sent: number) => sent,
  })
  @Get(':kilobytes')
  download(@Param('kilobytes') size: string) {
    return new StreamableFile(Readable.from(kilobytes(Number(size))));
  }
}

@Module({
  imports: [RateLimitModule.forRoot({ redis: process.env.REDIS_URL })],
  controllers: [FilesController],
})
class AppModule {}

const app = await NestFactory.create(AppModule, { logger: ['warn', 'error'] });
await app.listen(process.env.PORT ?? 3000);
console.log(`Listening on ${await app.getUrl()}`);
