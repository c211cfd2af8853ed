import { afterEach, describe, expect, it } from '@jest/globals';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { codeBlocks, textOf } from './code-blocks.js';
import { curl } from './curl.js';
import { runProgram, stopPrograms } from './node-program.js';
import { startSampleApp } from './sample-app.js';
import { sessionsOf, variablesOf, type Command } from './terminal.js';

const PAGES = ['README.md', 'sample-app/README.md'];
const sessions = PAGES.flatMap((page) => sessionsOf(codeBlocks(page, 'sh', 'console')));
const successful = sessions.filter(({ curls }) => curls.length > 0);
const speaking = sessions.filter(({ clients }) => clients.length > 0);
const failing = sessions.filter(({ start }) => start.prints.includes('Error'));

/** Removes times and ids of denials from an output, because they differ from run to run. */
function timeless(output: string): string {
  return output
    .replace(/(;t=|Retry-After: |try again in |"retryAfterMs":)\d+/gi, '$1…')
    .replace(/(?<="instance":"#)[\w-]+/, '…')
    .replace(/^[\w-]+(?=: )/gm, (name) => name.toLowerCase());
}

function statusesIn(output: string): string {
  return /^HTTP\/1.1 (\d+)/.exec(output)?.[1] ?? output;
}

/** A comment contains statuses. The output below a command contains some of the headers that curl prints. */
function expectPrinted(printed: string, { place, line, prints }: Command): void {
  const said = { place, line, printed: timeless(printed).split('\n') };
  if (/^[\d ]+$/.test(prints)) {
    expect({ ...said, printed: statusesIn(printed) }).toEqual({ ...said, printed: prints });
  } else {
    expect(said).toEqual({ ...said, printed: expect.arrayContaining(timeless(prints).split('\n')) });
  }
}

afterEach(stopPrograms);

// A command copied from a README prints what the README states, with Redis and without.
describe.each(['memory', 'redis'])('the READMEs against the sample app, counting in %s', (kind) => {
  const place = () =>
    kind === 'redis'
      ? { REDIS_URL: redisUrl(), RATE_LIMIT_PREFIX: uniquePrefix(), RATE_LIMIT_TIMEOUT: '5000' }
      : undefined;

  it.each(successful)('$start.line, from $start.place', async ({ start, curls }) => {
    const { origin, program } = await startSampleApp({ ...variablesOf(start), ...place() });
    expect(program.printed()).toContain(kind === 'redis' ? 'Counting in Redis' : 'Counting in the memory');
    for (const command of curls) expectPrinted(await curl(command.line, origin), command);
  });

  it.each(speaking)('$start.line with the clients of messages, from $start.place', async ({ clients }) => {
    const { origin, messagesPort } = await startSampleApp(place());
    for (const { line, prints } of clients) {
      const [file = '', ...args] = line.split(' ').slice(1);
      const variables = { PORT: new URL(origin).port, MESSAGES_PORT: messagesPort };
      const client = runProgram(file, variables, args);
      expect(await client.ended).toBe(0);
      expect(client.printed().trimEnd()).toBe(prints);
    }
  });

  it.each(failing)('$start.line fails at start as documented', async ({ start }) => {
    const program = runProgram('dist/sample-app/main.js', { PORT: '0', ...variablesOf(start), ...place() });
    expect(await program.ended).toBe(1);
    expect(program.printed()).toContain(start.prints);
  });

  it('the .env example takes effect in the sample app', async () => {
    const [example] = codeBlocks('README.md', 'ini');
    const variables = Object.fromEntries(
      example!.text
        .trim()
        .split('\n')
        .map((line) => line.split('=', 2)),
    );
    const { origin } = await startSampleApp({ ...variables, ...place() });
    const created = await curl('curl -i -X POST localhost:3000/orders', origin);
    expect(created).toContain('"create-order";q=20;');
    expect(created).toContain('"default";q=100;w=30');
  });
});

describe('the sample app', () => {
  it('the sample app lists the examples of its README at /', async () => {
    const { origin } = await startSampleApp();
    const guide = await curl('curl localhost:3000', origin);
    const [, examples] = guide.replaceAll(new URL(origin).host, 'localhost:3000').split(/(?<=:\n)\n/);
    expect(textOf('sample-app/README.md')).toContain(examples);
  });

  it('the sample app shuts down on a signal', async () => {
    const { origin, program } = await startSampleApp({ REDIS_URL: redisUrl() });
    await program.stop();
    expect(await program.ended).toBeNull();
    await expect(fetch(origin)).rejects.toThrow();
  });
});
