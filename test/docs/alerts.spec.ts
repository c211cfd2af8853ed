import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { recordMetrics } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { RedisStore } from '../../lib/redis.js';
import { promtool } from '../support/promtool.mjs';
import { startProxy, type Proxy } from '../support/redis/proxy.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { until } from '../support/redis/until.mjs';
import { pathOf, textOf } from '../readme/code-blocks.js';

const run = promisify(execFile);

/** Minutes without the fault, and with it. */
const BEFORE = 80;
const FAULT = 30;
const DURING = `${BEFORE + FAULT - 1}m`;

/** The values of series by their name with labels. */
type Sample = ReadonlyMap<string, number>;

/** What a fault is applied to. */
interface Rig {
  readonly server: RedisServer;
  readonly proxy: Proxy;
  readonly redis: Redis;
  readonly limiter: RateLimiter;
  /** Sends requests of new clients until one thing or another was seen. */
  readonly until: (isSeen: (sample: Sample) => boolean) => Promise<void>;
}

const SLOW = 'RateLimitDecisionsSlow';
const LOGIN = { name: 'login', window: '1h', limit: 3 } as const;

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'alerts-'));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

/** Runs an application without a fault, then with it. Returns the metrics of it and of Redis after each part. */
async function metricsOf(fault: (rig: Rig) => Promise<void>): Promise<readonly [Sample, Sample]> {
  const server = await startRedisServer();
  const proxy = await startProxy(server);
  const redis = new Redis(server.port, server.host, {
    lazyConnect: true,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  redis.on('error', () => undefined);
  const store = await RedisStore.open({ redis: { host: proxy.host, port: proxy.port }, timeout: 500 });
  const limiter = new RateLimiter({ store });
  await limiter.ready();
  const exporter = new PrometheusExporter({ preventServerStart: true });
  const provider = new MeterProvider({ readers: [exporter] });
  const stop = recordMetrics(limiter.events, provider.getMeter('rate-limit'));
  const sample = async (): Promise<Sample> => {
    const { resourceMetrics } = await exporter.collect();
    return seriesIn(new PrometheusSerializer().serialize(resourceMetrics));
  };
  let client = 0;
  const request = () => limiter.consume(LOGIN, `client-${(client += 1)}`).catch(() => undefined);
  for (let nth = 0; nth < 200; nth += 1) await request();
  const info = await ofRedis(redis);
  const before = new Map([...(await sample()), ...info]);
  const seen = async (isSeen: (sample: Sample) => boolean): Promise<void> =>
    until(
      async () => {
        await request();
        return isSeen(await sample());
      },
      'the fault',
      60_000,
    );
  await fault({ server, proxy, redis, limiter, until: seen });
  for (let nth = 0; nth < 20; nth += 1) await request();
  const after = new Map([...(await sample()), ...(await ofRedis(redis).catch(() => info))]);
  stop();
  redis.disconnect();
  await limiter.close();
  await provider.shutdown();
  await proxy.close();
  await server.stop();
  return [before, after];
}

function seriesIn(text: string): Map<string, number> {
  const lines = text.matchAll(/^(rate_limit_\w+\{.*\}) ([\d.e+-]+)(?: \d+)?$/gm);
  return new Map(Array.from(lines, ([, series, value]) => [series!, Number(value)]));
}

/** What redis_exporter publishes of INFO. */
async function ofRedis(redis: Redis): Promise<Map<string, number>> {
  const info = await redis.info();
  const figure = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
  const found = new Map([
    ['redis_memory_used_bytes', figure('used_memory')],
    ['redis_memory_max_bytes', figure('maxmemory')],
    ['redis_evicted_keys_total', figure('evicted_keys')],
    ['redis_connected_slaves', figure('connected_slaves')],
  ]);
  const link = /^master_link_status:(\w+)/m.exec(info);
  return link ? found.set('redis_master_link_up', link[1] === 'up' ? 1 : 0) : found;
}

/** Returns the alerts that Prometheus reports if the fault goes on for half an hour, as it was measured each minute. */
async function alertsOf([before, after]: readonly [Sample, Sample], at = DURING): Promise<readonly string[]> {
  const input = [...new Set([...before.keys(), ...after.keys()])].map((series) => ({
    series,
    values: valuesOf(series, before.get(series), after.get(series)),
  }));
  const expr = 'group by (alertname) (ALERTS{alertstate="firing"})';
  const test = {
    interval: '1m',
    input_series: input,
    promql_expr_test: [{ expr, eval_time: at, exp_samples: [{ labels: 'none', value: -1 }] }],
  };
  const file = join(folder, 'test.yml');
  const rules = [pathOf('docs/alerts.yml')];
  await writeFile(file, JSON.stringify({ rule_files: rules, evaluation_interval: '1m', tests: [test] }));
  const output = await run(promtool(), ['test', 'rules', file]).then(
    ({ stdout }) => stdout,
    (error: unknown) => Object.values(error as { stdout: string; stderr: string }).join(''),
  );
  expect(output).toContain('got:');
  const [, got = ''] = output.split('got:');
  return [...got.matchAll(/alertname="(\w+)"/g)].map(([, name]) => name!).sort();
}

/** The traffic without a fault repeats each minute, and so does what the fault adds. Gauges keep their values. */
function valuesOf(series: string, before = 0, after = before): string {
  const isCounter = /^\w+_(total|bucket|sum|count)\b/.test(series);
  const isNew = before === 0 && after > 0;
  const first = isNew
    ? `_x${BEFORE - 1}`
    : isCounter
      ? `0+${before}x${BEFORE - 1}`
      : `${before}x${BEFORE - 1}`;
  if (!isCounter) return `${first} ${after}x${FAULT}`;
  const total = before * BEFORE;
  return `${first} ${total + after - before}+${Math.max(0, after - before)}x${FAULT}`;
}

const has = (pattern: RegExp) => (sample: Sample) =>
  [...sample].some(([series, value]) => pattern.test(series) && value > 0);

const FAULTS: Readonly<
  Record<string, readonly [alerts: readonly string[], fault: (rig: Rig) => Promise<void>]>
> = {
  'no fault': [[], async () => undefined],
  'Redis that is down': [
    ['RateLimitFallbackDecides', 'RateLimitRedisUnavailable'],
    async (rig) => {
      await rig.server.stop();
      await rig.until(has(/^rate_limit_breaker_open/));
    },
  ],
  'Redis that hangs': [
    [SLOW, 'RateLimitFallbackDecides', 'RateLimitRedisUnavailable', 'RateLimitStoreTimeouts'],
    async (rig) => {
      rig.proxy.each((connection) => connection.stall());
      await rig.until(has(/^rate_limit_store_errors_total\{.*TIMEOUT/));
      await rig.until(has(/^rate_limit_breaker_open/));
    },
  ],
  'Redis that is slow': [
    [SLOW],
    async (rig) => {
      rig.proxy.each((connection) => connection.delay(30));
    },
  ],
  'Redis that is full': [
    ['RateLimitFallbackDecides', 'RateLimitRedisFull', 'RateLimitRedisMemory', 'RateLimitRedisUnavailable'],
    async (rig) => {
      await rig.redis.config('SET', 'maxmemory', '1');
      await rig.until(has(/OOM/));
      await rig.until(has(/^rate_limit_breaker_open/));
    },
  ],
  'Redis that became a replica without its master': [
    [
      'RateLimitFallbackDecides',
      'RateLimitRedisReadOnly',
      'RateLimitRedisUnavailable',
      'RateLimitReplicaMissing',
    ],
    async (rig) => {
      await rig.redis.replicaof('127.0.0.1', 1);
      await rig.until(has(/READONLY/));
      await rig.until(has(/^rate_limit_breaker_open/));
    },
  ],
  'Redis with another password': [
    ['RateLimitAccessRefused', 'RateLimitFallbackDecides', 'RateLimitRedisUnavailable'],
    async (rig) => {
      await rig.redis.config('SET', 'requirepass', 'another');
      rig.proxy.connections.forEach((connection) => connection.reset());
      await rig.until(has(/NOAUTH/));
      await rig.until(has(/^rate_limit_breaker_open/));
    },
  ],
  'Redis that evicts keys': [
    ['RateLimitRedisEvicts', 'RateLimitRedisMemory'],
    async (rig) => {
      await rig.redis.config('SET', 'maxmemory', '3mb', 'maxmemory-policy', 'allkeys-lru');
      const fill = "for n = 1, 100 do redis.call('SET', ARGV[1] .. n, string.rep('x', 1000)) end";
      for (let nth = 0; nth < 60; nth += 1) await rig.redis.eval(fill, 0, `${nth}:`);
    },
  ],
  'a client that is denied': [
    ['RateLimitDenialsDoubled'],
    async (rig) => {
      for (let nth = 0; nth < 50; nth += 1) await rig.limiter.consume(LOGIN, 'one');
    },
  ],
};

describe('docs/alerts.yml', () => {
  it.each(Object.entries(FAULTS))(
    'docs/alerts.yml fires its alerts, and no others: %s',
    async (_name, [alerts, fault]) => {
      const found = await alertsOf(await metricsOf(fault));
      // Another fault, or a busy machine, may slow decisions down as well.
      const others = found.filter((name) => alerts.includes(SLOW) || name !== SLOW);
      expect(others).toEqual([...alerts].sort());
    },
  );

  it('docs/alerts.yml fires for calls without a reply also if they are over when Prometheus first sees them', async () => {
    const [before] = await metricsOf(async () => undefined);
    const errors = 'rate_limit_store_errors_total{error_type="TIMEOUT"}';
    const burst = new Map([...before, [errors, 3]]);
    expect(await alertsOf([before, burst], `${BEFORE + 1}m`)).toContain('RateLimitStoreTimeouts');
  });

  it('docs/alerts.yml has an alert for each fault that a test provokes, and no others', async () => {
    const names = [...textOf('docs/alerts.yml').matchAll(/- alert: (\w+)/g)].map(([, name]) => name!);
    const provoked = new Set(Object.values(FAULTS).flatMap(([alerts]) => alerts));
    expect(names.sort()).toEqual([...provoked].sort());
    const table = textOf('docs/operations.md');
    expect(names.filter((name) => !table.includes(`\`${name}\``))).toEqual([]);
  });
});
