import {
  Inject,
  Injectable,
  Logger,
  ServiceUnavailableException,
  type OnModuleDestroy,
} from '@nestjs/common';
import type { ServerResponse } from 'node:http';
import { every, type Timer } from '../../../contracts/timer.js';
import { Snapshots } from '../snapshots.js';
import { writeHead } from './raw-response.js';

const MOST_STREAMS = 20;
const SENT_EVERY_MS = 1000;
/** A comment is sent this often, in seconds. */
const COMMENT_EVERY = 15;
/** A stream ends after this time, in seconds: the browser opens another one, which the guards check again. */
const LONGEST = 600;
/** A client that reads slowly gets no further snapshot while so many bytes wait. */
const MOST_WAITING = 1_000_000;

/** Sends a snapshot to every open page, once a second. It makes none while no page is open. */
@Injectable()
export class EventStreams implements OnModuleDestroy {
  private readonly logger = new Logger('RateLimit');
  private readonly streams = new Map<ServerResponse, number>();
  private timer: Timer | undefined;
  private isSending = false;
  private seconds = 0;

  constructor(@Inject(Snapshots) private readonly snapshots: Snapshots) {}

  /** @throws ServiceUnavailableException if this process has the maximum number of streams */
  checkRoom(): void {
    if (this.streams.size < MOST_STREAMS) return;
    throw new ServiceUnavailableException(
      `This process already sends to ${MOST_STREAMS} pages; close one of them.`,
    );
  }

  open(response: ServerResponse): void {
    writeHead(response, 200, 'text/event-stream; charset=utf-8', {
      'x-accel-buffering': 'no',
      connection: 'keep-alive',
    });
    response.write('retry: 1000\n\n');
    this.streams.set(response, this.seconds);
    const closed = (): void => this.close(response);
    response.on('close', closed).on('error', closed);
    this.timer ??= every(SENT_EVERY_MS, () => this.tick());
    void this.sendSnapshot([response]);
  }

  onModuleDestroy(): void {
    for (const response of this.streams.keys()) response.end();
    this.streams.clear();
    this.timer?.stop();
  }

  private close(response: ServerResponse): void {
    this.streams.delete(response);
    if (this.streams.size > 0) return;
    this.timer?.stop();
    this.timer = undefined;
  }

  private tick(): void {
    this.seconds += 1;
    for (const [response, since] of this.streams) {
      const age = this.seconds - since;
      if (age >= LONGEST) response.end();
      else if (age % COMMENT_EVERY === 0) response.write(': open\n\n');
    }
    if (!this.isSending) void this.sendSnapshot([...this.streams.keys()]);
  }

  private async sendSnapshot(responses: readonly ServerResponse[]): Promise<void> {
    this.isSending = true;
    try {
      const text = `event: snapshot\ndata: ${JSON.stringify(await this.snapshots.make())}\n\n`;
      for (const response of responses) {
        if (!response.writableEnded && response.writableLength < MOST_WAITING) response.write(text);
      }
    } catch (error) {
      this.logger.error('The operations page could not be updated.', error);
    } finally {
      this.isSending = false;
    }
  }
}
