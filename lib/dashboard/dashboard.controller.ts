import { ForbiddenException, Get, Inject, Logger, NotFoundException, Post, Req, Res } from '@nestjs/common';
import { DASHBOARD_OPTIONS, type DashboardOptions } from './dashboard.options.js';
import { Changes, CHANGES, UNMASKS } from './http/changes.js';
import { EventStreams } from './http/event-streams.js';
import { failureOf, rawResponse, jsonReply, send, type Reply } from './http/raw-response.js';
import {
  checkChange,
  checkHost,
  checkOrigin,
  checkPeer,
  ownEntry,
  pathAndQuery,
  pathEnd,
  type DashboardRequest,
} from './http/request-checks.js';
import type { ServerResponse } from 'node:http';
import { page } from './page.embedded.js';
import { Snapshots } from './snapshots.js';

/** The files of the page by the ends of their paths. */
const FILES: Readonly<Record<string, Reply>> = {
  page: text('text/html', page.html),
  'page.js': text('text/javascript', page.js),
  'page.css': text('text/css', page.css),
};

type Read = (
  page: DashboardController,
  request: DashboardRequest,
  raw: ServerResponse,
) => Promise<object> | void;

/** What the page reads, by the ends of the paths. */
const READS: Readonly<Record<string, Read>> = {
  snapshot: ({ snapshots }) => snapshots.make(),
  history: ({ changes }, { query }) => changes.history.of(query?.['rule']),
  restrictions: ({ changes }) => changes.restrictions.list(),
  events: ({ streams }, _request, raw) => streams.open(raw),
};

/** The requests of the operations page. `RateLimitDashboardModule` adds the path and the guards. */
export class DashboardController {
  private readonly logger = new Logger('RateLimit');

  constructor(
    @Inject(DASHBOARD_OPTIONS) private readonly options: DashboardOptions,
    @Inject(Snapshots) readonly snapshots: Snapshots,
    @Inject(EventStreams) readonly streams: EventStreams,
    @Inject(Changes) readonly changes: Changes,
  ) {}

  @Get()
  index(@Req() request: DashboardRequest, @Res() response: unknown): Promise<void> {
    return this.answer(request, response, () => redirect(request));
  }

  @Get(Object.keys(FILES))
  file(@Req() request: DashboardRequest, @Res() response: unknown): Promise<void> {
    return this.answer(request, response, () => entryOf(FILES, request));
  }

  @Get(Object.keys(READS))
  read(@Req() request: DashboardRequest, @Res() response: unknown): Promise<void> {
    return this.answer(request, response, async (raw) => {
      checkOrigin(request);
      const read = await entryOf(READS, request)(this, request, raw);
      return read === undefined ? undefined : jsonReply(read);
    });
  }

  @Post([...Object.keys(CHANGES), 'actions/:id'])
  change(@Req() request: DashboardRequest, @Res() response: unknown): Promise<void> {
    return this.answer(request, response, async () => {
      checkChange(request);
      return jsonReply((await this.changes.run(request)) ?? {});
    });
  }

  /** Shows subjects. `RateLimitDashboardModule` adds the paths and the guards. */
  unmask(request: DashboardRequest, response: unknown): Promise<void> {
    return this.answer(request, response, async () => {
      if (!this.options.unmask)
        throw new ForbiddenException('Subjects are masked: the operations page has no `unmaskGuards`.');
      checkChange(request);
      return jsonReply(await this.changes.run(request, entryOf(UNMASKS, request)));
    });
  }

  private async answer(
    request: DashboardRequest,
    response: unknown,
    reply: (raw: ServerResponse) => Reply | Promise<Reply | undefined>,
  ): Promise<void> {
    const raw = rawResponse(response);
    const run = async (): Promise<void> => {
      if (!this.options.isGuarded) {
        checkPeer(request);
        checkHost(request);
      }
      const made = await reply(raw);
      if (made) send(raw, made);
    };
    const fail = (error: unknown): void => send(raw, failureOf(error, this.logger));
    // An error of the application may be one that cannot be sent. Fastify answers 201 to an error that is thrown here.
    await run().catch(fail).catch(fail);
  }
}

/** @throws NotFoundException if there is none: a framework may ignore the case of a path */
function entryOf<Entry>(entries: Readonly<Record<string, Entry>>, request: DashboardRequest): Entry {
  const entry = ownEntry(entries, pathEnd(request)[1]);
  if (entry === undefined) throw new NotFoundException();
  return entry;
}

function text(type: string, body: string): Reply {
  return { status: 200, type: `${type}; charset=utf-8`, body };
}

/**
 * Leads to the page by a relative URL, since proxies may add a prefix. The page is not at the path itself: there, its own
 * relative URLs would lead elsewhere without a slash at the end, which is another route on Fastify.
 */
function redirect(request: DashboardRequest): Reply {
  const [path, query] = pathAndQuery(request);
  const location = `${path.slice(path.lastIndexOf('/') + 1)}/page`.replace(/^\//, '');
  const headers = { location: query === undefined ? location : `${location}?${query}` };
  return { ...text('text/plain', ''), status: 302, headers };
}
