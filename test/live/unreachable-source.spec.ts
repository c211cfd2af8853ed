import { afterEach, expect, it } from '@jest/globals';
import { RedisRuleSource } from '../../lib/redis.js';
import { freePort } from '../support/redis/free-port.mjs';
import { until } from '../support/redis/until.mjs';

const sources: RedisRuleSource[] = [];
afterEach(() => Promise.all(sources.splice(0).map((source) => source.close())));

/** Returns the number of listeners on the client of a source. */
function listenersOf(source: RedisRuleSource): number {
  interface Opened {
    readonly control: { readonly connection: { readonly current: { readonly client: NodeJS.EventEmitter } } };
  }
  const { client } = (source as unknown as Opened).control.connection.current;
  return ['ready', 'error', 'end', 'close'].reduce((total, event) => total + client.listenerCount(event), 0);
}

it('a source of live rules that was never reachable keeps no listeners, and names the server and the cause', async () => {
  const port = await freePort();
  const source = new RedisRuleSource({ redis: { host: '127.0.0.1', port } });
  sources.push(source);
  const load = () => source.load().catch((error: unknown) => (error as Error).message);
  await until(
    async () => String(await load()).includes('no server listens there'),
    'the cause of the failure',
  );
  expect(await load()).toContain(`no connection to Redis at 127.0.0.1:${port} (ECONNREFUSED)`);
  const before = listenersOf(source);
  await Promise.all(Array.from({ length: 20 }, load));
  await load();
  expect(listenersOf(source)).toBeLessThanOrEqual(before);
});
