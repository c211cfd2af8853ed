import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';
import { codeBlocks, pathOf, type CodeBlock } from './code-blocks.js';
import { freePort } from '../support/redis/free-port.mjs';
import { runProgram, stopPrograms, type NodeProgram } from './node-program.js';
import { fileOf, problemsOf, transpiled } from './snippet-program.js';

const readme = codeBlocks('README.md', 'ts');
const snippets = [
  ...readme,
  ...[
    'comparison',
    'configuration',
    'lifecycle',
    'live-rules',
    'migration',
    'operations',
    'programs',
    'testing',
    'transports',
    'troubleshooting',
  ].flatMap((page) => codeBlocks(`docs/${page}.md`, 'ts')),
];
const written: string[] = [];

/** Runs a snippet as a file of the built sample application, with the Redis of the tests. */
function run(block: CodeBlock, variables: Record<string, string> = {}): NodeProgram {
  const file = fileOf(block).replace(pathOf('sample-app/'), 'dist/sample-app/').replace(/\.ts$/, '.js');
  const script = transpiled(block)
    .replace('redis://localhost', redisUrl())
    .replace('new RateLimiter({', `new RateLimiter({ prefix: '${uniquePrefix()}',`);
  mkdirSync(dirname(pathOf(file)), { recursive: true });
  writeFileSync(pathOf(file), script);
  written.push(pathOf(file));
  return runProgram(file, variables);
}

afterEach(async () => {
  await stopPrograms();
  for (const file of written.splice(0)) rmSync(file);
});

describe('the snippets of README.md and docs', () => {
  it('snippets compile against the package, but not with options of another algorithm', () => {
    expect(problemsOf(snippets)).toEqual([]);
    const [first] = readme;
    const wrong = {
      ...first!,
      text: first!.text.replace("'token-bucket', burst: 10", "'sliding-window-log', burst: 10"),
    };
    expect(problemsOf([wrong])).toEqual([expect.stringContaining('burst')]);
  }, 120_000);

  it('the first snippet of README.md is an application that limits', async () => {
    const port = await freePort();
    const started = `void NestFactory.create(AppModule).then((app) => app.listen(${port}));`;
    const app = run({ ...readme[0]!, text: `${readme[0]!.text}\n${started}` });
    await app.said(/successfully started/);
    const ask = (method: string, path: string) => fetch(`http://localhost:${port}${path}`, { method });
    await until(
      () =>
        ask('GET', '/').then(
          () => true,
          () => false,
        ),
      'the app to listen',
    );
    const { status, headers } = await ask('POST', '/orders');
    expect(status).toBe(201);
    expect(headers.get('RateLimit-Policy')).toBe('"create-order";q=10;w=2, "default";q=100;w=60');
    const burst = await Promise.all(Array.from({ length: 60 }, () => ask('POST', '/orders')));
    expect(burst.some((response) => response.status === 429)).toBe(true);
  });

  const printing = snippets.filter(({ text }) => text.includes('console.log('));

  it.each(
    printing.flatMap((block) => [
      { block, where: 'in memory', variables: {} },
      { block, where: 'with REDIS_URL', variables: { REDIS_URL: redisUrl() } },
    ]),
  )(
    'snippets print what their comments state and exit, $where: $block.place',
    async ({ block, variables }) => {
      const said = Array.from(
        block.text.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm),
        ([, comment]) => comment,
      );
      const program = run(block, variables);
      expect(await program.ended).toBe(0);
      const printed = program
        .printed()
        .split('\n')
        .filter((line) => line && !line.startsWith('[Nest]'));
      expect(printed).toEqual(said);
    },
  );
});
