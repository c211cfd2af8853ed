import { expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { Control } from '../../lib/stores/redis/link/control.js';
import { ProcessRecords } from '../../lib/stores/redis/link/process-records.js';
import { startProxy } from '../support/redis/proxy.js';
import { startRedisServer } from '../support/redis/redis-server.mjs';
import { until } from '../support/redis/until.mjs';

it('reports do not pile up while Redis hangs, and are published again when it replies', async () => {
  const server = await startRedisServer();
  const proxy = await startProxy(server);
  const control = new Control({ host: proxy.host, port: proxy.port });
  const records = new ProcessRecords(control, 'p:{dashboard}', 'one');
  let sent = 0;
  const call = control.call.bind(control);
  control.call = (run) => {
    sent += 1;
    return call(run);
  };
  await control.call((redis) => redis.zadd('p:{dashboard}', 1, 'one'));
  await records.publish('first', 'k');
  proxy.each((connection) => connection.stall());
  await expect(records.publish('second', 'k')).rejects.toThrow('no reply within 900 ms');
  const before = sent;
  for (let nth = 0; nth < 10; nth += 1) expect(await records.publish('another', 'k')).toBeUndefined();
  expect(sent).toBe(before);
  proxy.each((connection) => connection.resume());
  await until(async () => {
    await records.publish('last', 'k').catch(() => undefined);
    const found = await records.read([]).catch(() => undefined);
    return found?.records[0]?.text === 'last';
  }, 'the report to be published');
  control.close();
  await proxy.close();
  await server.stop();
});

it('a page that is still read when the application closes keeps no connection, which would keep the process from exiting', async () => {
  const server = await startRedisServer();
  const redis = new Redis(server.url);
  const clients = async () => ((await redis.client('LIST')) as string).trim().split('\n').length;
  await redis.ping();
  const control = new Control(server.url);
  const records = new ProcessRecords(control, 'p:{dashboard}', 'one');
  const call = control.call.bind(control);
  control.call = async (run) => {
    const reply = await call(run);
    control.call = call;
    control.close(); // The application ends after the first of the calls.
    return reply;
  };
  expect(await records.read([1])).toMatchObject({ records: [] });
  await until(async () => (await clients()) === 1, 'the connections to end');
  redis.disconnect();
  await server.stop();
});
