import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { pathOf } from '../readme/code-blocks.js';

/** Where the site is on its host, as on GitHub Pages. */
const BASE = '/nestjs-redis-rate-limit/';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.json': 'application/json',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

/** The documentation as a site on a loopback port. */
export interface Site {
  readonly url: string;
  /** Paths that were requested and do not exist. */
  readonly missing: string[];
  close(): Promise<void>;
}

/** Builds the site, and serves it. */
export async function startSite(): Promise<Site> {
  const folder = await mkdtemp(join(tmpdir(), 'site-'));
  const args = [pathOf('node_modules/vitepress/bin/vitepress.js'), 'build', 'site', '--outDir', folder];
  await promisify(execFile)(process.execPath, args, {
    cwd: pathOf('.'),
    env: { ...process.env, SITE_BASE: BASE, NODE_OPTIONS: '', NODE_ENV: 'production' },
  });
  const missing: string[] = [];
  const server = createServer(({ url = '' }, response) => {
    const { pathname } = new URL(url, 'http://localhost');
    const name = pathname.endsWith('/') ? `${pathname}index.html` : pathname;
    const file = name.startsWith(BASE)
      ? join(folder, decodeURIComponent(name.slice(BASE.length)))
      : undefined;
    const found = file?.startsWith(folder) ? readFile(file) : Promise.reject(new Error('not in the site'));
    found.then(
      (content) => response.setHeader('content-type', TYPES[extname(name)] ?? 'text/plain').end(content),
      () => {
        missing.push(pathname);
        response.writeHead(404).end();
      },
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${BASE}`,
    missing,
    async close() {
      server.closeAllConnections();
      server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
