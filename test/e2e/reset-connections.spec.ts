import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Controller, Get, type INestApplication } from '@nestjs/common';
import {
  limitBeforeRouting,
  RateLimit,
  RateLimitModule,
  type RateLimitModuleOptions,
} from '../../lib/index.js';
import { until } from '../support/redis/until.mjs';
import { closeApps, FRAMEWORKS, startApp } from '../support/nest-app.js';

afterEach(closeApps);

const REQUESTS = 20;

let runs: string[] = [];

@Controller()
class Routes {
  @Get('plain')
  plain(): void {
    runs.push('plain');
  }

  @RateLimit({ name: 'list', window: '1m', limit: 2, by: ['user', 'ip'] })
  @Get('list')
  list(): void {
    runs.push('list');
  }

  @RateLimit({ name: 'function', window: '1m', limit: () => Promise.resolve(2) })
  @Get('function')
  function(): void {
    runs.push('function');
  }

  @RateLimit({
    name: 'by',
    window: '1m',
    limit: 2,
    by: (context) => context.switchToHttp().getRequest<{ ip?: string }>().ip,
  })
  @Get('by')
  by(): void {
    runs.push('by');
  }
}

/** Sends requests and resets each connection at once, so that the address of its client is unknown. */
async function resetAfter(port: number, path: string, requests = REQUESTS): Promise<void> {
  for (let sent = 0; sent < requests; sent += 1) {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    await once(socket, 'connect');
    socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    socket.resetAndDestroy();
    await once(socket, 'close');
  }
}

const OPTIONS: RateLimitModuleOptions = {
  defaults: { onMissingSubject: 'skip' },
  rules: { default: { window: '1m', limit: 2 } },
  onDemand: { flood: { window: '1m', limit: 2, onMissingSubject: 'skip' } },
};

describe.each(FRAMEWORKS)('a client that resets its connections, %s', (framework) => {
  async function start(options = OPTIONS, configure: (app: INestApplication) => void = () => undefined) {
    runs = [];
    let seen = 0;
    const started = await startApp(
      { imports: [RateLimitModule.forRoot(options)], controllers: [Routes] },
      {
        framework,
        configure: (app) => {
          app.use((request: { user?: unknown }, _response: unknown, next: () => void) => {
            seen += 1;
            request.user = { id: 'ann' };
            next();
          });
          configure(app);
        },
      },
    );
    return { ...started, untilSeen: (many: number) => until(() => seen >= many, `${many} requests`) };
  }

  it.each(['plain', 'list', 'function', 'by'])(
    'evades no limit by its address, although the rule skips a missing subject: /%s',
    async (path) => {
      const { port, untilSeen, get, logs } = await start();
      await resetAfter(port, `/${path}`);
      await untilSeen(REQUESTS);
      await get(`/${path}`); // Decided after all of them.
      expect(runs.length).toBeLessThanOrEqual(3);
      expect(logs.ours().filter(({ message }) => message.includes('RL_NO_CLIENT_ADDRESS'))).toEqual([]);
    },
  );

  it('evades no limit before routing', async () => {
    const { onDemand } = OPTIONS;
    const { port, get } = await start({ onDemand }, (app) => limitBeforeRouting(app, 'flood'));
    await resetAfter(port, '/plain');
    await get('/plain'); // Decided after all of them.
    expect(runs.length).toBeLessThanOrEqual(3);
  });

  it('causes no warning that requests have no address', async () => {
    const { port, untilSeen, get, logs } = await start({ rules: { default: { window: '1m', limit: 100 } } });
    await resetAfter(port, '/plain');
    await untilSeen(REQUESTS);
    await get('/plain');
    expect(logs.ours().filter(({ message }) => message.includes('RL_NO_CLIENT_ADDRESS'))).toEqual([]);
  });
});
