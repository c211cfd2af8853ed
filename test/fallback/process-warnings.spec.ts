import { expect, it, jest } from '@jest/globals';
import { MemoryStore, type Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { RedisStore } from '../../lib/redis.js';

const RULE: Rule = { name: 'mail', window: '1h', limit: 2 };

/** Returns the process warnings of the limiter while a function runs, as code and message. */
async function warningsOf(run: () => Promise<unknown>): Promise<unknown[]> {
  const emitted = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  try {
    await run();
    return emitted.mock.calls.map(([message, options]) => [(options as { code?: string }).code, message]);
  } finally {
    emitted.mockRestore();
  }
}

it('a limiter without Nest warns once that its memory is full', async () => {
  const limiter = new RateLimiter({ store: new MemoryStore({ maxKeys: 2 }) });
  const warnings = await warningsOf(async () => {
    for (const subject of ['ann', 'bob', 'cleo', 'dan']) await limiter.consume(RULE, subject);
  });
  expect(warnings).toEqual([
    ['RL_MEMORY_FULL', expect.stringContaining('maxKeys (2) counters, and the least recently used')],
  ]);
  await limiter.close();
});

it.each([
  { what: 'warns that Redis cannot decide, if nothing listens', listens: false },
  { what: 'leaves failures of Redis to a listener', listens: true },
])('a limiter without Nest $what', async ({ listens }) => {
  const breakers: unknown[] = [];
  const warnings = await warningsOf(async () => {
    const store = new RedisStore({ redis: 'redis://127.0.0.1:1' });
    const limiter = new RateLimiter({ store, onStoreError: 'allow' });
    if (listens) limiter.events.on('breaker', ({ state }) => breakers.push(state));
    await limiter.ready();
    for (let nth = 0; nth < 5; nth += 1) await limiter.consume(RULE, 'ann');
    await limiter.close();
    await store.close();
  });
  const message = expect.stringMatching(
    /^The store cannot decide: .*127\.0\.0\.1:1.*onStoreError: 'allow' decides/,
  );
  expect({ breakers, warnings }).toEqual(
    listens ? { breakers: ['open'], warnings: [] } : { breakers: [], warnings: [[undefined, message]] },
  );
});
