import { connect, type IncomingHttpHeaders } from 'node:http2';
import type { AddressInfo, Server } from 'node:net';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import type { INestApplication } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimitModule } from '../../lib/index.js';
import { RateLimitDashboardModule } from '../../lib/dashboard.js';
import type { RateLimitDashboardExtras } from '../../lib/dashboard/dashboard.options.js';
import { LogLines } from '../support/log-lines.js';
import { AdminGuard, FROM_PAGE } from './dashboard-app.js';

let app: INestApplication;
afterEach(() => app.close());

/** Starts a page over HTTP/2. Returns a function that sends one request on a connection of its own. */
async function startOverHttp2(extras: RateLimitDashboardExtras = {}) {
  const imports = [RateLimitModule.forRoot(), RateLimitDashboardModule.forRoot(extras)];
  const module = await Test.createTestingModule({ imports }).setLogger(new LogLines()).compile();
  app = module.createNestApplication(new FastifyAdapter({ http2: true } as object));
  await app.listen(0, '127.0.0.1');
  const { port } = (app.getHttpServer() as Server).address() as AddressInfo;
  const statusOf = (path: string, headers: Record<string, string> = {}): Promise<number> =>
    new Promise((resolve, reject) => {
      const session = connect(`http://127.0.0.1:${port}`).on('error', reject);
      const stream = session.request({ ':path': `/rate-limits/${path}`, ...headers }).on('error', reject);
      stream.on('response', (answer: IncomingHttpHeaders & { ':status'?: number }) => {
        resolve(answer[':status']!);
        session.destroy();
      });
      stream.end(headers[':method'] === 'POST' ? '{}' : undefined);
    });
  const preview = (origin: string, headers = {}) =>
    statusOf('rules/preview', { ...FROM_PAGE, ':method': 'POST', origin, ...headers });
  return { here: `http://127.0.0.1:${port}`, statusOf, preview };
}

const FOREIGN = ['null', 'https://evil.example', 'about:blank', 'file://', 'data:text/html,x'];

describe('the operations page over HTTP/2', () => {
  it('is for this machine without guards, at its own addresses', async () => {
    const { here, statusOf, preview } = await startOverHttp2();
    for (const path of ['page', 'snapshot', 'events']) {
      expect([path, await statusOf(path)]).toEqual([path, 200]);
    }
    expect(await statusOf('snapshot', { ':authority': 'evil.example' })).toBe(403);
    expect(await preview(here)).toBe(422);
    for (const origin of FOREIGN) expect([origin, await preview(origin)]).toEqual([origin, 403]);
  });

  it('refuses changes of pages without an origin, such as sandboxed frames, with guards', async () => {
    const { here, preview, statusOf } = await startOverHttp2({ guards: [AdminGuard] });
    const admin = { 'x-admin': 'yes' };
    expect(await preview(here)).toBe(403);
    expect(await preview(here, admin)).toBe(422);
    for (const origin of FOREIGN) {
      expect([origin, await preview(origin, admin)]).toEqual([origin, 403]);
      expect([origin, await statusOf('snapshot', { origin, ...admin })]).toEqual([origin, 403]);
    }
  });
});
