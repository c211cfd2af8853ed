import { afterEach, describe, expect, it } from '@jest/globals';
import { until } from '../support/redis/until.mjs';
import { LINKS, startMicroservice } from './microservice-app.js';
import { GRAPHQL, startGraphql } from './graphql-app.js';

const running: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const app of running.splice(0)) await app.close();
});

// Nest's client sends no message without a payload.
const PAYLOADS = ['', 0, true, [], {}, [null], { numbers: null }, 'x'.repeat(300_000), Array(10_000).fill(1)];

describe.each(GRAPHQL)('unusual requests to $title', (setup) => {
  it('a thousand aliases of a limited field are allowed up to the limit, and all are answered', async () => {
    const app = await startGraphql(setup);
    running.push(app);
    const fields = Array.from({ length: 1000 }, (_, nth) => `f${nth}: orders`).join(' ');
    const { data, errors } = await app.query(`{ ${fields} }`);
    expect(Object.values(data!).filter((value) => value === 'ok')).toHaveLength(2);
    expect(errors).toEqual(Array(998).fill('TOO_MANY_REQUESTS'));
    expect((await app.query('{ parcels }')).data).toEqual({ parcels: 'ok' });
  });

  it.each(['', 'null', '[]', '{', '{"query":null}', '{"query":1}', '[{"query":"{ orders }"}]'])(
    'the body %j is answered and charges nothing',
    async (body) => {
      const app = await startGraphql(setup);
      running.push(app);
      const headers = { 'content-type': 'application/json' };
      const { status } = await app.send({ method: 'POST', path: '/graphql', headers, body });
      expect(status).toBeGreaterThanOrEqual(200);
      const after = await app.query('{ a: orders b: orders }');
      expect(after.data).toEqual({ a: 'ok', b: 'ok' });
    },
  );
});

describe.each(LINKS)('unusual payloads of messages over %s', (link) => {
  it('every denied message is answered, whatever its payload', async () => {
    const app = await startMicroservice(link, { overrides: { tenant: { limit: 0, by: 'everyone' } } });
    running.push(app);
    for (const payload of PAYLOADS) {
      expect(await app.send('tenant', payload)).toMatchObject({ error: { status: 429 } });
    }
    // Over Redis, a message without a handler has no receiver.
    if (link === 'TCP') expect(await app.send('unknown', {})).toHaveProperty('error');
    expect(await app.send('free')).toBe('free');
  });

  it('events with unusual payloads are dropped or handled, and the next message is answered', async () => {
    const app = await startMicroservice(link);
    running.push(app);
    for (const payload of PAYLOADS) await app.emit('stored', payload);
    await until(async () => (await app.send('free')) === 'free', 'the next message');
  });
});
