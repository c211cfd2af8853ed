import {
  Inject,
  Injectable,
  Logger,
  ServiceUnavailableException,
  type OnModuleDestroy,
} from '@nestjs/common';
import type { ServerResponse } from 'node:http';
import { after, every, type Timer } from '../../contracts/timer.js';
import { afterResponse } from '../../http/response-end.js';
import type { Snapshot } from '../snapshot.js';
import { patchOf } from '../snapshot-patch.js';
import { Snapshots } from '../snapshots.js';
import { writeHead } from './raw-response.js';

const MOST_STREAMS = 20;

const SENT_EVERY_MS = 1000;

/** A stream ends after this time: the browser opens another one, which the guards check again. */
const LONGEST_MS = 600_000;

/** A client that reads slowly gets nothing more while so many bytes wait, and then a whole snapshot. */
const MOST_WAITING = 1_000_000;

/** Milliseconds that a client has to read the rest of a stream that has ended. */
const LAST_MS = 5000;

/**
 * Sends every open page a snapshot, and then once a second what has changed. It makes no snapshots while no page is open.
 */
@Injectable()
export class EventStreams implements OnModuleDestroy {
  private readonly logger = new Logger('RateLimit');
  /** The pages that follow the figures, each with whether it has the last snapshot, so that the changes suffice. */
  private readonly streams = new Map<ServerResponse, boolean>();
  private timer: Timer | undefined;
  private isSending = false;
  private last: Snapshot | undefined;
  private hasEnded = false;

  constructor(@Inject(Snapshots) private readonly snapshots: Snapshots) {}

  /** @throws ServiceUnavailableException if this process has the maximum number of streams, or ends */
  open(response: ServerResponse): void {
    // A page connects again after a second: an application that takes longer to close would wait for it.
    if (this.hasEnded) throw new ServiceUnavailableException('This process ends.');
    if (this.streams.size >= MOST_STREAMS) {
      const message = `This process already sends to ${MOST_STREAMS} pages; close one of them.`;
      throw new ServiceUnavailableException(message);
    }
    // The page may have been closed while the guards checked the request.
    if (response.closed || response.req.socket.destroyed) return;
    writeHead(response, 200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'x-accel-buffering': 'no',
      ...(response.req.httpVersionMajor === 1 && { connection: 'keep-alive' }), // HTTP/2 forbids it.
    });
    if (response.req.method === 'HEAD') {
      response.end();
      return;
    }
    response.write('retry: 1000\n\n');
    this.streams.set(response, false);
    const longest = after(LONGEST_MS, () => this.end(response));
    response.on('error', () => this.close(response));
    afterResponse(response, () => {
      longest.stop();
      this.close(response);
    });
    this.timer ??= every(SENT_EVERY_MS, () => void this.sendSnapshot());
    void this.sendSnapshot();
  }

  onModuleDestroy(): void {
    this.hasEnded = true;
    for (const response of this.streams.keys()) this.end(response);
  }

  /** Frees the place of a stream at once: a response to a client that does not read would never finish. */
  private end(response: ServerResponse): void {
    this.close(response);
    response.end();
    const timer = after(LAST_MS, () => response.destroy());
    afterResponse(response, () => timer.stop());
  }

  private close(response: ServerResponse): void {
    this.streams.delete(response);
    if (this.streams.size > 0) return;
    this.timer?.stop();
    this.timer = this.last = undefined;
  }

  private async sendSnapshot(): Promise<void> {
    if (this.isSending) return;
    this.isSending = true;
    try {
      const snapshot = await this.snapshots.make();
      const update = this.last && eventOf('update', patchOf(this.last, snapshot));
      this.last = snapshot;
      let whole: string | undefined;
      for (const [response, isCurrent] of this.streams) {
        const hasRoom = response.writableLength <= MOST_WAITING;
        this.streams.set(response, hasRoom);
        if (hasRoom) response.write((isCurrent && update) || (whole ??= eventOf('snapshot', snapshot)));
      }
    } catch (error) {
      this.logger.error('The operations page could not be updated.', error);
    } finally {
      this.isSending = false;
    }
  }
}

function eventOf(name: string, data: unknown): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
