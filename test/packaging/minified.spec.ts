import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { expect, it, jest } from '@jest/globals';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { Consumer } from './consumer.js';
import { packTarball } from './tarball.js';

jest.setTimeout(300_000);

/** The program that builds a version of the application. */
const buildOf = (version: number): string => `require('esbuild').buildSync({
  entryPoints: ['src/main.ts'],
  outfile: 'dist/v${version}.js',
  define: { VERSION: '${version}' },
  bundle: true,
  minify: true,
  platform: 'node',
  packages: 'external',
})`;

it('two minified builds, in which one class has the names of others, share the counters of each route', async () => {
  const tarball = await packTarball();
  const consumer = await Consumer.install(tarball, 'minified');
  for (const version of [1, 2]) await consumer.run(buildOf(version));
  const env = { REDIS_URL: redisUrl(), KEY_PREFIX: uniquePrefix() };
  const [first, second] = [await consumer.start(env, 'v1.js'), await consumer.start(env, 'v2.js')];
  const [before, after] = await Promise.all([first.get('/orders'), second.get('/reports')]);
  expect(await before.text()).toBe(await after.text()); // the name of the class
  expect((await second.get('/orders')).status).toBe(200);
  expect((await first.get('/orders')).status).toBe(429);
  expect((await second.get('/orders')).status).toBe(429);
  for (const path of ['/reports', '/users', '/users']) expect((await second.get(path)).status).toBe(200);
  expect((await first.get('/users')).status).toBe(429);
  expect([await first.close(), await second.close()]).toEqual([0, 0]);
  await consumer.remove();
  await rm(dirname(tarball), { recursive: true, force: true });
});
