import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { redisUrl } from '../support/redis/shared-redis.js';
import { Consumer } from './consumer.js';
import { packTarball } from './tarball.js';

jest.setTimeout(300_000);

let tarball: string;

beforeAll(async () => {
  tarball = await packTarball();
});

afterAll(() => rm(dirname(tarball), { recursive: true, force: true }));

describe('nest add nestjs-redis-rate-limit, with the packed tarball', () => {
  it.each([
    { kind: 'CommonJS', fixtures: ['nest-11-cjs', 'nest-add'], options: [], root: 'src' },
    { kind: 'ESM', fixtures: ['nest-12-esm', 'nest-add'], options: [], root: 'src' },
    {
      kind: 'CommonJS in a monorepo',
      fixtures: ['nest-11-cjs', 'nest-add-monorepo'],
      options: ['--project', 'shop'],
      root: 'apps/shop/src',
    },
  ])(
    'makes an application limit its routes without further lines: $kind',
    async ({ fixtures, options, root }) => {
      const consumer = await Consumer.install(tarball, ...fixtures);
      await consumer.nestAdd(...options);
      expect(await consumer.textOf(`${root}/app.module.ts`)).toContain('RateLimitModule.forRoot(');
      expect(await consumer.textOf('.env.example')).toBe('REDIS_URL=redis://localhost:6379\n');
      await consumer.compile('--skipLibCheck', 'true'); // packaging.spec.ts checks the declarations
      for (const env of [{ REDIS_URL: redisUrl() }, { REDIS_URL: undefined }]) {
        const app = await consumer.start(env);
        expect((await app.get('/')).headers.get('RateLimit-Policy')).toBe('"default";q=100;w=60');
        expect(await app.close()).toBe(0);
      }
      await consumer.remove();
    },
  );
});
