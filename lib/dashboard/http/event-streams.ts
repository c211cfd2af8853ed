import {
  CHART_S,
  chartStart,
  RULE_CHART_S,
  type RuleUpdate,
  type Snapshot,
  type SnapshotRule,
  type SnapshotSecond,
  type SnapshotUpdate,
} from '../snapshot.js';
import {
  Inject,
  Injectable,
  Logger,
  ServiceUnavailableException,
  type OnModuleDestroy,
} from '@nestjs/common';
import type { ServerResponse } from 'node:http';
import { every, type Timer } from '../../contracts/timer.js';
import { afterResponse } from '../../http/response-end.js';
import { Snapshots } from '../snapshots.js';
import { writeHead } from './raw-response.js';

/** Returns what differs between two snapshots of a stream. */
export function updateOf(before: Snapshot, after: Snapshot): SnapshotUpdate {
  const { rules: rulesBefore, seconds: secondsBefore, ...othersBefore } = before;
  const { rules, seconds, ...others } = after;
  const known = new Map(rulesBefore.map((rule) => [rule.rule, rule]));
  const names = new Set(rules.map(({ rule }) => rule));
  return {
    ...changed(othersBefore, others),
    at: after.at,
    seconds: changedSeconds(secondsBefore, seconds, chartStart(after.at, CHART_S)),
    rules: rules.flatMap((rule) => ruleUpdate(known.get(rule.rule), rule, after.at) ?? []),
    removed: [...known.keys()].filter((name) => !names.has(name)),
  };
}

function ruleUpdate(
  before: SnapshotRule | undefined,
  after: SnapshotRule,
  now: number,
): RuleUpdate | undefined {
  if (!before) return after;
  const { seconds: secondsBefore, ...othersBefore } = before;
  const { seconds, ...others } = after;
  const fields = changed(othersBefore, others);
  const changes = changedSeconds(secondsBefore, seconds, chartStart(now, RULE_CHART_S));
  if (Object.keys(fields).length + changes.length === 0) return undefined;
  return { ...fields, rule: after.rule, seconds: changes };
}

/** Returns the properties with another value. */
function changed<Item extends object>(before: Item, after: Item): Partial<Item> {
  const entries = Object.entries(after) as [keyof Item, unknown][];
  const differs = ([name, value]: [keyof Item, unknown]): boolean =>
    before[name] !== value && JSON.stringify(before[name]) !== JSON.stringify(value);
  return Object.fromEntries(entries.filter(differs)) as Partial<Item>;
}

/** Returns the seconds since a time with other figures. A second that is absent has no requests. */
function changedSeconds(
  before: readonly SnapshotSecond[],
  after: readonly SnapshotSecond[],
  since: number,
): readonly SnapshotSecond[] {
  const known = new Map(before.map((second) => [second.at, second]));
  const current = new Set(after.map(({ at }) => at));
  const gone = before.filter(({ at }) => at >= since && !current.has(at));
  const differs = ({ at, allowed, denied }: SnapshotSecond): boolean => {
    const second = known.get(at);
    return second?.allowed !== allowed || second.denied !== denied;
  };
  return [...after.filter(differs), ...gone.map(({ at }) => ({ at, allowed: 0, denied: 0 }))];
}

const MOST_STREAMS = 20;

const SENT_EVERY_MS = 1000;

/** A comment is sent this often, in seconds. */
const COMMENT_EVERY = 15;

/** A stream ends after this time, in seconds: the browser opens another one, which the guards check again. */
const LONGEST = 600;

/** A client that reads slowly gets nothing more while so many bytes wait, and then a whole snapshot. */
const MOST_WAITING = 1_000_000;

/** A page that follows the figures. */
interface Stream {
  /** The second in which it was opened. */
  readonly since: number;
  /** Whether it has the last snapshot, so that the changes suffice. */
  isCurrent: boolean;
}

/**
 * Sends every open page a snapshot, and then once a second what has changed. It makes no snapshots while no page is open.
 */
@Injectable()
export class EventStreams implements OnModuleDestroy {
  private readonly logger = new Logger('RateLimit');
  private readonly streams = new Map<ServerResponse, Stream>();
  private timer: Timer | undefined;
  private isSending = false;
  private last: Snapshot | undefined;
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
    // The page may have been closed while the guards checked the request.
    if (response.closed || response.req.socket.destroyed) return;
    writeHead(response, 200, 'text/event-stream; charset=utf-8', {
      'x-accel-buffering': 'no',
      ...(response.req.httpVersionMajor === 1 && { connection: 'keep-alive' }), // HTTP/2 forbids it.
    });
    if (response.req.method === 'HEAD') {
      response.end();
      return;
    }
    response.write('retry: 1000\n\n');
    this.streams.set(response, { since: this.seconds, isCurrent: false });
    response.on('error', () => this.close(response));
    afterResponse(response, () => this.close(response));
    this.timer ??= every(SENT_EVERY_MS, () => this.tick());
    void this.sendSnapshot();
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
    this.timer = this.last = undefined;
  }

  private tick(): void {
    this.seconds += 1;
    for (const [response, { since }] of this.streams) {
      const age = this.seconds - since;
      if (age >= LONGEST) response.end();
      else if (age % COMMENT_EVERY === 0) response.write(': open\n\n');
    }
    void this.sendSnapshot();
  }

  private async sendSnapshot(): Promise<void> {
    if (this.isSending) return;
    this.isSending = true;
    try {
      const snapshot = await this.snapshots.make();
      const update = this.last && eventOf('update', updateOf(this.last, snapshot));
      this.last = snapshot;
      let whole: string | undefined;
      for (const [response, stream] of this.streams) {
        if (response.writableEnded || response.writableLength > MOST_WAITING) stream.isCurrent = false;
        else if (stream.isCurrent && update !== undefined) response.write(update);
        else {
          response.write((whole ??= eventOf('snapshot', snapshot)));
          stream.isCurrent = true;
        }
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
