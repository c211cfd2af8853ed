import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { metrics, type Meter as OpenTelemetryMeter } from '@opentelemetry/api';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
  type Histogram,
  type MetricData,
} from '@opentelemetry/sdk-metrics';
import { MemoryStore, type Decision, type Rule } from '../index.js';
import { RateLimiter } from '../limiter.js';
import { type Meter, recordMetrics } from './metrics.js';
import { RateLimitEvents } from './events.js';
import { ServerStates } from './server-state.js';

const LOGIN: Rule = { name: 'login', algorithm: 'fixed-window', limit: 2, window: '1m' };
const WATCHED: Rule = { ...LOGIN, name: 'watched', limit: 1, mode: 'shadow' };

describe('recordMetrics', () => {
  let exporter: InMemoryMetricExporter;
  let provider: MeterProvider;
  let events: RateLimitEvents;
  let stop: () => void;

  beforeEach(() => {
    exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
    const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
    provider = new MeterProvider({ readers: [reader] });
    events = new RateLimitEvents();
    events.servers = new ServerStates();
    stop = recordMetrics(events, provider.getMeter('test'));
  });

  afterEach(() => provider.shutdown());

  /** Returns the exported data of an instrument. */
  async function instrument(name: string): Promise<MetricData | undefined> {
    await provider.forceFlush();
    const { scopeMetrics = [] } = exporter.getMetrics().at(-1) ?? {};
    return scopeMetrics[0]?.metrics.find(({ descriptor }) => descriptor.name === name);
  }

  const points = async (name: string) =>
    (await instrument(name))?.dataPoints.map(({ attributes, value }) => ({ ...attributes, value }));

  const decided = (decision: Partial<Decision>, durationMs = 1) =>
    events.decided([], { decision: { decisions: [], ...decision } as Decision, durationMs });

  it('counts decisions by rule, outcome and source, and never by subject', async () => {
    const limiter = new RateLimiter({ store: new MemoryStore({ clock: () => 0 }) });
    recordMetrics(limiter.events, provider.getMeter('test'));
    for (let nth = 1; nth <= 3; nth++) await limiter.consume([LOGIN, WATCHED], 'ann');
    await limiter.peek(LOGIN, 'ann');
    const login = { 'rate_limit.rule': 'login', 'rate_limit.source': 'memory' };
    const watched = { 'rate_limit.rule': 'watched', 'rate_limit.source': 'memory' };
    expect(await points('rate_limit.decisions')).toEqual([
      { ...login, 'rate_limit.outcome': 'allowed', value: 2 },
      { ...watched, 'rate_limit.outcome': 'allowed', value: 1 },
      { ...watched, 'rate_limit.outcome': 'shadow-denied', value: 2 },
      { ...login, 'rate_limit.outcome': 'denied', value: 1 },
    ]);
  });

  it('records the durations of decisions in seconds, with buckets for fractions of a millisecond', async () => {
    for (const durationMs of [0.2, 0.4, 3, 49.9, 51]) decided({ allowed: true, source: 'redis' }, durationMs);
    decided({ allowed: false, source: 'redis' }, 0.2);
    const { descriptor, dataPoints } = (await instrument('rate_limit.decision.duration'))!;
    expect(descriptor.unit).toBe('s');
    expect(dataPoints.map(({ attributes }) => attributes)).toEqual([
      { 'rate_limit.outcome': 'allowed', 'rate_limit.source': 'redis' },
      { 'rate_limit.outcome': 'denied', 'rate_limit.source': 'redis' },
    ]);
    const { buckets } = dataPoints[0]!.value as Histogram;
    const counted = buckets.boundaries.filter((_, index) => buckets.counts[index]! > 0);
    expect(counted).toEqual([0.00025, 0.0005, 0.005, 0.05, 0.1]);
  });

  it('records the source of each rule if the sources differ', async () => {
    const decisions = [
      { rule: 'a', allowed: true },
      { rule: 'b', allowed: true, source: 'fallback' },
    ] as unknown as Decision['decisions'];
    decided({ allowed: true, source: 'redis', decisions });
    expect(await points('rate_limit.decisions')).toMatchObject([
      { 'rate_limit.rule': 'a', 'rate_limit.source': 'redis' },
      { 'rate_limit.rule': 'b', 'rate_limit.source': 'fallback' },
    ]);
  });

  it('counts errors of the store by a short type', async () => {
    class DeadlineError extends Error {
      override readonly name = 'DeadlineError';
    }
    const refused = Object.assign(new Error('connect ECONNREFUSED 10.0.0.1:6379'), { code: 'ECONNREFUSED' });
    for (let nth = 1; nth <= 2; nth++)
      events.storeFailed(new DeadlineError(`no reply within ${nth} ms`), 'decision');
    events.storeFailed(refused, 'decision');
    events.storeFailed(new Error('OOM command not allowed when used memory > "maxmemory".'), 'decision');
    events.storeFailed(new Error('Connection is closed.'), 'decision');
    events.storeFailed('what is no error', 'decision');
    expect(await points('rate_limit.store.errors')).toEqual([
      { 'error.type': 'DeadlineError', value: 2 },
      { 'error.type': 'ECONNREFUSED', value: 1 },
      { 'error.type': 'OOM', value: 1 },
      { 'error.type': 'Error', value: 1 },
      { 'error.type': 'ERR', value: 1 },
    ]);
  });

  it('reports for each server whether its circuit breaker is open or has closed', async () => {
    const gone = new Error('gone');
    events.storeChanged({ server: '', error: gone });
    events.storeChanged({ server: '10.0.0.1:6379', error: gone });
    events.storeChanged({ server: '::1:6380', error: gone });
    events.storeChanged({ server: '10.0.0.1:6379', error: undefined });
    expect(await points('rate_limit.breaker.open')).toEqual([
      { value: 1 },
      { 'server.address': '10.0.0.1', 'server.port': 6379, value: 0 },
      { 'server.address': '::1', 'server.port': 6380, value: 1 },
    ]);
  });

  it('reports a circuit breaker that opened before recording started', async () => {
    stop();
    events.storeChanged({ server: '', error: new Error('gone') });
    recordMetrics(events, provider.getMeter('test'));
    expect(await points('rate_limit.breaker.open')).toEqual([{ value: 1 }]);
  });

  it('removes all listeners when it is stopped', async () => {
    expect(events.followsDecisions).toBe(true);
    stop();
    expect(events.followsDecisions).toBe(false);
    events.storeFailed(new Error('gone'), 'decision');
    events.storeChanged({ server: '', error: new Error('gone') });
    expect(await points('rate_limit.store.errors')).toBeUndefined();
    expect(await points('rate_limit.breaker.open')).toBeUndefined();
  });
});

describe('the meter of OpenTelemetry', () => {
  it('is accepted by the compiler and at run time, even without an SDK', () => {
    const theirs: OpenTelemetryMeter = metrics.getMeter('rate-limit');
    const meter: Meter = theirs;
    const limiter = new RateLimiter({ store: new MemoryStore() });
    recordMetrics(limiter.events, meter);
    return expect(limiter.consume(LOGIN, 'ann')).resolves.toMatchObject({ allowed: true });
  });
});
