import { Get, Inject, Logger, Post, Req, Res } from '@nestjs/common';
import { DASHBOARD_GUARDED } from './dashboard.options.js';
import { Changes } from './http/changes.js';
import { EventStreams } from './http/event-streams.js';
import { failureOf, rawResponse, jsonReply, send, type Reply } from './http/raw-response.js';
import {
  checkChange,
  checkHost,
  checkOrigin,
  checkPeer,
  type DashboardRequest,
} from './http/request-checks.js';
import { page } from './page.embedded.js';
import { Snapshots } from './snapshots.js';

type Answer = () => unknown;

/** The requests of the operations page. `RateLimitDashboardModule` adds the path and the guards. */
export class DashboardController {
  private readonly logger = new Logger('RateLimit');

  constructor(
    @Inject(DASHBOARD_GUARDED) private readonly isGuarded: boolean,
    @Inject(Snapshots) private readonly snapshots: Snapshots,
    @Inject(EventStreams) private readonly streams: EventStreams,
    @Inject(Changes) private readonly changes: Changes,
  ) {}

  @Get()
  index(@Req() request: DashboardRequest, @Res() response: unknown): Promise<void> {
    return this.answer(request, response, () => redirect(request));
  }

  @Get('page')
  html(@Req() request: DashboardRequest, @Res() response: unknown): Promise<void> {
    return this.answer(request, response, () => text('text/html', page.html));
  }

  @Get('page.js')
  script(@Req() request: DashboardRequest, @Res() response: unknown): Promise<void> {
    return this.answer(request, response, () => text('text/javascript', page.js));
  }

  @Get('page.css')
  style(@Req() request: DashboardRequest, @Res() response: unknown): Promise<void> {
    return this.answer(request, response, () => text('text/css', page.css));
  }

  @Get('snapshot')
  snapshot(@Req() request: DashboardRequest, @Res() response: unknown): Promise<void> {
    return this.read(request, response, () => this.snapshots.make());
  }

  @Get('history')
  history(@Req() request: DashboardRequest, @Res() response: unknown): Promise<void> {
    return this.read(request, response, () => this.changes.history(request.query?.['rule']));
  }

  @Get('events')
  async events(@Req() request: DashboardRequest, @Res() response: unknown): Promise<void> {
    let isAllowed = false;
    const raw = rawResponse(response);
    try {
      this.checkRead(request);
      this.streams.checkRoom();
      isAllowed = true;
    } catch (error) {
      send(raw, failureOf(error, this.logger));
    }
    if (isAllowed) this.streams.open(raw);
  }

  @Post('preview')
  preview(@Req() request: DashboardRequest, @Res() response: unknown): Promise<void> {
    return this.change(request, response, () => this.changes.preview(request));
  }

  @Post('rules/set')
  set(@Req() request: DashboardRequest, @Res() response: unknown): Promise<void> {
    return this.change(request, response, () => this.changes.set(request));
  }

  @Post('rules/unset')
  unset(@Req() request: DashboardRequest, @Res() response: unknown): Promise<void> {
    return this.change(request, response, () => this.changes.unset(request));
  }

  @Post('rules/restore')
  restore(@Req() request: DashboardRequest, @Res() response: unknown): Promise<void> {
    return this.change(request, response, () => this.changes.confirm(request, 'restore'));
  }

  @Post('rules/accept')
  accept(@Req() request: DashboardRequest, @Res() response: unknown): Promise<void> {
    return this.change(request, response, () => this.changes.confirm(request, 'accept'));
  }

  @Post('subjects/reset')
  reset(@Req() request: DashboardRequest, @Res() response: unknown): Promise<void> {
    return this.change(request, response, () => this.changes.reset(request));
  }

  @Post('subjects/block')
  block(@Req() request: DashboardRequest, @Res() response: unknown): Promise<void> {
    return this.change(request, response, () => this.changes.block(request));
  }

  @Post('actions/:id')
  action(@Req() request: DashboardRequest, @Res() response: unknown): Promise<void> {
    return this.change(request, response, () => this.changes.run(request));
  }

  private read(request: DashboardRequest, response: unknown, answer: Answer): Promise<void> {
    return this.answer(request, response, async () => {
      checkOrigin(request);
      return jsonReply(await answer());
    });
  }

  private change(request: DashboardRequest, response: unknown, answer: Answer): Promise<void> {
    return this.answer(request, response, async () => {
      checkChange(request);
      return jsonReply((await answer()) ?? {});
    });
  }

  private checkRead(request: DashboardRequest): void {
    this.checkOpen(request);
    checkOrigin(request);
  }

  /** Without guards, the page is for this machine only. */
  private checkOpen(request: DashboardRequest): void {
    if (this.isGuarded) return;
    checkPeer(request);
    checkHost(request);
  }

  private async answer(
    request: DashboardRequest,
    response: unknown,
    reply: () => Reply | Promise<Reply>,
  ): Promise<void> {
    const raw = rawResponse(response);
    try {
      this.checkOpen(request);
      send(raw, await reply());
    } catch (error) {
      send(raw, failureOf(this.changes.shownError(error), this.logger));
    }
  }
}

function text(type: string, body: string): Reply {
  return { status: 200, type: `${type}; charset=utf-8`, body };
}

/**
 * Leads to the page by a relative URL, since proxies may add a prefix. The page is not at the path itself: there, its own
 * relative URLs would lead elsewhere without a slash at the end, which is another route on Fastify.
 */
function redirect({ originalUrl, url }: DashboardRequest): Reply {
  const [path, query] = (originalUrl ?? url).split('?') as [string, string?];
  const location = `${path.slice(path.lastIndexOf('/') + 1)}/page`.replace(/^\//, '');
  const headers = { location: query === undefined ? location : `${location}?${query}` };
  return { ...text('text/plain', ''), status: 302, headers };
}
