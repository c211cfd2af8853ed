import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { Consumer } from './consumer.js';
import { filesIn, packTarball } from './tarball.js';

jest.setTimeout(300_000);

let tarball: string;

beforeAll(async () => {
  tarball = await packTarball();
});

afterAll(async () => {
  await rm(dirname(tarball), { recursive: true, force: true });
});

describe('the tarball', () => {
  it('the tarball contains what a user needs and nothing else', async () => {
    const files = await filesIn(tarball);
    const built = /^dist\/(esm|cjs)\/(?!.*[.]spec[.]).+[.](js|d[.]ts)$/;
    const docs = /^docs\/.+[.](md|svg)$/;
    expect(files.filter((file) => !built.test(file) && !docs.test(file)).sort()).toEqual([
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'dist/cjs/package.json',
      'package.json',
    ]);
    for (const format of ['esm', 'cjs']) {
      expect(files).toContain(`dist/${format}/index.js`);
      expect(files).toContain(`dist/${format}/index.d.ts`);
    }
    expect(files).toContain('docs/reference.md');
  });
});

describe.each([
  {
    name: 'Nest 11, CommonJS, Express, ioredis 5',
    fixture: 'nest-11-cjs',
    resolution: ['--module', 'Node16', '--moduleResolution', 'Node16'],
    jestNeeds: [],
  },
  {
    name: 'Nest 12, ESM, Fastify, ioredis 6',
    fixture: 'nest-12-esm',
    resolution: ['--module', 'ESNext', '--moduleResolution', 'Bundler'],
    jestNeeds: ['--experimental-vm-modules'],
  },
])('an application on $name', ({ fixture, resolution, jestNeeds }) => {
  let consumer: Consumer;

  beforeAll(async () => {
    consumer = await Consumer.install(fixture, tarball);
    await consumer.compile();
  });

  afterAll(async () => {
    await consumer.remove();
  });

  it(`an application with the tarball also compiles under ${resolution.at(-1)} resolution`, async () => {
    await consumer.compile('--noEmit', ...resolution);
  });

  it('an application with the tarball limits in memory', async () => {
    await expectLimitOfThree({ REDIS_URL: undefined });
  });

  it('an application with the tarball limits on Redis', async () => {
    const prefix = uniquePrefix();
    const redis = new Redis(redisUrl());
    try {
      await expectLimitOfThree({ REDIS_URL: redisUrl(), KEY_PREFIX: prefix });
      expect(await redis.keys(`${prefix}*`)).toHaveLength(1);
    } finally {
      redis.disconnect();
    }
  });

  it('an application with the tarball can be tested with Jest', async () => {
    await consumer.runSpecs(...jestNeeds);
  });

  async function expectLimitOfThree(env: NodeJS.ProcessEnv): Promise<void> {
    const app = await consumer.start({ RATE_LIMIT__DEFAULT__LIMIT: '3', ...env });
    for (const remaining of [2, 1, 0]) {
      const allowed = await app.get('/orders');
      expect(allowed.status).toBe(200);
      expect(allowed.headers.get('RateLimit-Policy')).toBe('"default";q=3;w=60');
      expect(allowed.headers.get('RateLimit')).toBe(`"default";r=${remaining};t=60`);
    }
    const denied = await app.get('/orders');
    expect(denied.status).toBe(429);
    expect(denied.headers.get('Content-Type')).toContain('application/problem+json');
    expect(Number(denied.headers.get('Retry-After'))).toBeGreaterThan(0);
    expect(await denied.json()).toMatchObject({ status: 429, 'violated-policies': ['default'] });
    expect((await app.get('/orders/health')).status).toBe(200);
    expect(await app.close()).toBe(0);
  }
});
