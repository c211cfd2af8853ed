import { readFileSync } from 'node:fs';
import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { Consumer } from './consumer.js';
import { filesIn, packageRoot, packTarball, unpackedSize } from './tarball.js';

jest.setTimeout(300_000);

/** The subpaths in package.json, each with the name of its built file. */
const { exports, scripts } = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as {
  exports: object;
  scripts: Record<string, string>;
};
const subpaths = Object.keys(exports)
  .filter((subpath) => subpath !== './package.json')
  .map((subpath) => ({
    from: subpath.replace('.', 'nestjs-redis-rate-limit'),
    file: subpath.slice(2) || 'index',
  }));

let tarball: string;

beforeAll(async () => {
  tarball = await packTarball();
});

afterAll(async () => {
  await rm(dirname(tarball), { recursive: true, force: true });
});

/** Returns the pages that messages of built files refer to. */
async function pagesNamedIn(folder: string): Promise<readonly string[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.js'));
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')));
  return [...new Set(texts.flatMap((text) => text.match(/docs\/[a-z-]+\.md/g) ?? []))];
}

describe('the tarball', () => {
  it('the tarball has a new build, because npm builds before it packs', () => {
    expect(scripts['prepack']).toBe('npm run build');
  });

  it('the tarball contains what a user needs and nothing else', async () => {
    const files = await filesIn(tarball);
    const built = /^dist\/(esm|cjs)\/(testing\/)?[\w.-]+[.](js|js[.]map|d[.]ts)$/;
    const docs = /^docs\/[a-z-]+[.]md$/;
    expect(files.filter((file) => !built.test(file) && !docs.test(file)).sort()).toEqual([
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'dist/cjs/collection.json',
      'dist/cjs/nest-add.schema.json',
      'dist/cjs/package.json',
      'package.json',
    ]);
    for (const format of ['esm', 'cjs']) {
      for (const { file } of subpaths)
        for (const ending of ['js', 'd.ts', ...(format === 'esm' ? ['js.map'] : [])])
          expect(files).toContain(`dist/${format}/${file}.${ending}`);
    }
    const named = await pagesNamedIn(join(packageRoot, 'dist/esm'));
    expect(named.filter((page) => !files.includes(page))).toEqual([]);
  });

  it('the tarball has at most 700 kB, and 3 MB when it is unpacked', async () => {
    expect((await stat(tarball)).size).toBeLessThanOrEqual(700_000);
    expect(await unpackedSize(tarball)).toBeLessThanOrEqual(3_000_000);
  });
});

describe.each([
  {
    name: 'Nest 10, CommonJS, Express, without ioredis, with types of Node.js 20.3',
    fixtures: ['nest-11-cjs', 'nest-10-cjs'],
    resolution: ['--module', 'Node16', '--moduleResolution', 'Node16'],
    jestNeeds: [],
    tester: [],
    hasRedis: false,
  },
  {
    name: 'Nest 11, CommonJS, Express, ioredis 5, TypeScript 5, ts-jest',
    fixtures: ['nest-11-cjs', 'ts-jest-cjs'],
    resolution: ['--module', 'Node16', '--moduleResolution', 'Node16'],
    jestNeeds: [],
    tester: ['jest/bin/jest.js'],
    hasRedis: true,
  },
  {
    name: 'Nest 12, ESM, Fastify, ioredis 6, TypeScript 7, Vitest',
    fixtures: ['nest-12-esm', 'vitest-esm'],
    resolution: ['--module', 'ESNext', '--moduleResolution', 'Bundler'],
    jestNeeds: ['--experimental-vm-modules'],
    tester: ['vitest/vitest.mjs', 'run'],
    hasRedis: true,
  },
])('an application on $name', ({ fixtures, resolution, jestNeeds, tester: [tester, ...args], hasRedis }) => {
  const installed = subpaths
    .map(({ from }) => from)
    .filter((from) => (hasRedis || !from.endsWith('/redis')) && !/(jest|vitest|swagger)$/.test(from));
  let consumer: Consumer;

  beforeAll(async () => {
    consumer = await Consumer.install(tarball, ...fixtures);
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

  it('the tarball loads every subpath with the same exports as an ES module and as CommonJS', async () => {
    const loaded = await consumer.run(`(async () => {
      for (const subpath of ${JSON.stringify(installed)}) {
        const [names, others] = [require(subpath), await import(subpath)].map((each) => Object.keys(each));
        console.log(subpath, names.every((name) => others.includes(name)));
      }
    })()`);
    expect(loaded.trim().split('\n')).toEqual(installed.map((subpath) => `${subpath} true`));
  });

  it('the tarball shows lines of the TypeScript source in stack traces', async () => {
    const stack = await consumer.run(`import('nestjs-redis-rate-limit').then(({ MemoryStore }) => {
      try { new MemoryStore({ maxKeys: 0 }); } catch (error) { console.log(error.stack); }
    })`);
    expect(stack).toMatch(/lib\/stores\/memory\/memory[.]store[.]ts:\d+:\d+/);
  });

  it('an application with the tarball can be tested with Jest', async () => {
    await consumer.runSpecs(...jestNeeds);
  });

  if (tester !== undefined) {
    it('the testing kit limits on a manual clock, with typed matchers and the contract of stores', async () => {
      await consumer.runInstalled(tester, ...args);
    });
  }

  if (!hasRedis) {
    it('an application without ioredis does not start with a Redis URL, and names the package to install', async () => {
      const started = consumer.start({ REDIS_URL: redisUrl() });
      await expect(started).rejects.toThrow('ioredis is not installed; run: npm install ioredis');
    });
    return;
  }

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

  async function expectLimitOfThree(env: NodeJS.ProcessEnv): Promise<void> {
    const app = await consumer.start({ RATE_LIMIT__DEFAULT__LIMIT: '3', ...env });
    for (const field of [/^"default";r=2;t=40$/, /^"default";r=1;t=20$/, /^"default";r=0;t=[56]\d$/]) {
      const allowed = await app.get('/orders');
      expect(allowed.status).toBe(200);
      expect(allowed.headers.get('RateLimit-Policy')).toBe('"default";q=3;w=60');
      expect(allowed.headers.get('RateLimit')).toMatch(field);
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
