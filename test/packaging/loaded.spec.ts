import { describe, expect, it } from '@jest/globals';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from './run-command.js';
import { packageRoot } from './tarball.js';

/** Returns the files that a CommonJS program has loaded, relative to this package, and the names of packages. */
async function loadedBy(program: string): Promise<string[]> {
  const list = `console.log(JSON.stringify(Object.keys(require.cache)))`;
  const output = await runCommand(
    packageRoot,
    process.execPath,
    '--eval',
    `(async () => { ${program}; ${list} })()`,
  );
  return (JSON.parse(output) as string[]).map((file) => file.slice(packageRoot.length));
}

const LOAD = "require('reflect-metadata'); const { RateLimitModule } = require('./dist/cjs/index.js')";
const START = `
  const { Module } = require('@nestjs/common'); const { NestFactory } = require('@nestjs/core');
  class App {}
  Module({ imports: [RateLimitModule.forRoot({ rules: { default: { window: '1m', limit: 9 } } })] })(App);
  const app = await NestFactory.createApplicationContext(App, { logger: false }); await app.init(); await app.close()`;

describe('an application that counts in memory', () => {
  it('loads neither ioredis, nor the Redis store with its Lua, nor optional parts of the package', async () => {
    const files = await loadedBy(`${LOAD}; ${START}`);
    const ours = files.filter((file) => file.startsWith('dist/')).toSorted();
    expect(ours).toEqual(['dist/cjs/core.js', 'dist/cjs/heart.js', 'dist/cjs/index.js']);
    const others =
      /node_modules[/](ioredis|ts-morph|typescript|@nestjs[/](swagger|throttler|graphql|microservices))[/]/;
    expect(files.filter((file) => others.test(file))).toEqual([]);
  });

  it('loads at most 290 kB of code', async () => {
    const ours = (await loadedBy(`${LOAD}; ${START}`)).filter((file) => file.startsWith('dist/'));
    const sizes = await Promise.all(ours.map(async (file) => (await stat(join(packageRoot, file))).size));
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(290_000);
  });

  it('loads one more algorithm if its rule names one', async () => {
    const named = START.replace('limit: 9', "limit: 9, algorithm: 'sliding-window-counter'");
    const files = await loadedBy(`${LOAD}; ${named}`);
    const algorithms = files.filter((file) => /[/](sliding|gcra|token|leaky|fixed|concurrency)/.test(file));
    expect(algorithms).toEqual(['dist/cjs/sliding-window-counter.js']);
  });

  it('loads live rules if it has a source of them', async () => {
    const live = START.replace(
      'forRoot({',
      'forRoot({ liveRules: { load: () => ({ version: 1, entries: [] }), watch: () => () => 0 },',
    );
    expect(await loadedBy(`${LOAD}; ${live}`)).toContain('dist/cjs/source-rules.js');
  });

  it('loads the operations of programs at start if it injects the limiter', async () => {
    const injecting = START.replace('class App {}', 'class App {}; class Jobs {}').replace(
      '{ imports:',
      "{ providers: [{ provide: Jobs, inject: [require('./dist/cjs/index.js').RateLimitService], useFactory: () => new Jobs() }], imports:",
    );
    expect(await loadedBy(`${LOAD}; ${injecting}`)).toContain('dist/cjs/program-operations.js');
    expect(await loadedBy(`${LOAD}; ${START}`)).not.toContain('dist/cjs/program-operations.js');
  });

  it('loads what waits for permits if a rule of it waits', async () => {
    const waiting = START.replace('limit: 9', "limit: 9, algorithm: 'leaky-bucket', maxWait: '1s'");
    expect(await loadedBy(`${LOAD}; ${waiting}`)).toContain('dist/cjs/waits.js');
  });

  it('loads the checks of headers and users if a rule counts by one', async () => {
    const byHeader = START.replace('limit: 9', "limit: 9, by: 'x-tenant'");
    expect(await loadedBy(`${LOAD}; ${byHeader}`)).toContain('dist/cjs/identity-checks.js');
  });

  it('loads the other transports if it has a handler of one', async () => {
    const gateway = START.replace('{ imports:', '{ providers: [Chat], imports:').replace(
      'class App {}',
      `const { SubscribeMessage, WebSocketGateway } = require('@nestjs/websockets');
       class App {} class Chat { post() {} }
       SubscribeMessage('post')(Chat.prototype, 'post', { value: Chat.prototype.post }); WebSocketGateway()(Chat)`,
    );
    const files = await loadedBy(`${LOAD}; ${gateway}`);
    expect(files.filter((file) => file.startsWith('dist/'))).toContain('dist/cjs/handler-enhancers.js');
  });

  it.each(['core', 'heart'])('has no Lua in the code that it loads: %s', async (name) => {
    const file = `dist/cjs/${name}.js`;
    const found = await runCommand(packageRoot, 'grep', '-c', 'redis.call(', file).catch(String);
    expect(found).not.toMatch(/^[1-9]/);
  });
});

describe('a program without Nest', () => {
  it('loads what decides, and nothing of Nest', async () => {
    const files = await loadedBy(`
      const { RateLimiter, MemoryStore } = require('./dist/cjs/limiter.js');
      const limiter = new RateLimiter({ store: new MemoryStore() });
      const { allowed } = await limiter.consume({ window: '1m', limit: 9 }, 'ann');
      if (!allowed) throw new Error('denied');
      await limiter.close()`);
    expect(files.filter((file) => file.includes('@nestjs') || file.includes('rxjs'))).toEqual([]);
    const ours = files.filter((file) => file.startsWith('dist/'));
    expect(ours).toEqual(
      expect.arrayContaining(['dist/cjs/heart.js', 'dist/cjs/limiter.js', 'dist/cjs/gcra.js']),
    );
    expect(ours.filter((file) => /(core|index|redis.store)[.]js$/.test(file))).toEqual([]);
  });
});
