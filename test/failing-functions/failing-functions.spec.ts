import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { send } from '../support/http-client.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { STORES } from '../support/virtual-store.js';
import { BEHAVIOURS } from './behaviours.mjs';
import { PLACES } from './places.mjs';

const program = fileURLToPath(new URL('application.mjs', import.meta.url));
const behaviours = Object.keys(BEHAVIOURS);

/** Functions that the limiter does not await: a request continues whatever they do. */
const NOT_AWAITED = /^(count|decision|denied|storeError|breaker|counter|histogram)/;

/** Functions that create the body of a denial: the request is denied whatever they do. */
const REFUSED = /^(body|denied)/;

/** Functions that return the limit: an invalid value results in a 503. */
const OF_LIMIT = /^(limit|window)/;

describe.each(STORES)('an application whose own functions fail, with %s', (kind) => {
  let child: ChildProcess;
  let port: number;

  beforeAll(async () => {
    const options = {
      prefix: uniquePrefix(),
      ...(kind === 'redis' && { redis: redisUrl(), timeout: 10_000 }),
    };
    child = fork(program, [JSON.stringify(options)]);
    [{ port }] = (await once(child, 'message')) as [{ port: number }];
  });
  afterAll(async () => {
    child.kill();
    await once(child, 'exit');
  });

  async function ask<Answer>(command: string, value?: unknown): Promise<Answer> {
    const answered = once(child, 'message');
    child.send({ command, value });
    const [{ answer }] = (await answered) as [{ answer: Answer }];
    return answer;
  }

  const cases = Object.keys(PLACES).flatMap((place) =>
    behaviours.map((behaviour, index) => ({ place, behaviour, index })),
  );

  it.each(cases)(
    'an application continues when the function in $place $behaviour',
    async ({ place, behaviour, index }) => {
      await ask('begin', [place, index]);
      const isHanging = behaviour === 'never settles' && !NOT_AWAITED.test(place);
      if (isHanging) await hangUp(port, `/${place}/${index}`);
      else {
        const { status } = await send(port, { path: `/${place}/${index}` });
        if (REFUSED.test(place)) expect(status).toBe(429);
        else if (NOT_AWAITED.test(place)) expect(status).toBe(200);
        else if (OF_LIMIT.test(place)) expect([500, 503]).toContain(status);
        else expect([200, 500]).toContain(status);
      }
      expect(await ask('escaped')).toEqual([]);
      expect(child.exitCode).toBeNull();
    },
  );
});

/** Sends a request, and disconnects if there is no response after a moment. */
async function hangUp(port: number, path: string): Promise<void> {
  await Promise.race([send(port, { path }), new Promise((resolve) => setTimeout(resolve, 20))]);
}
