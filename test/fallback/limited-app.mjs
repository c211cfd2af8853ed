// One of several processes with a Nest application (Express) that allows a client 100 requests per day. It sends its
// port to its parent, and ends when the parent disconnects. A response has the source of its decision in `x-source`;
// GET /report returns everything that the application has reported so far.
import 'reflect-metadata';
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  RateLimitEvents,
  RateLimitHealth,
  RateLimitModule,
  recordMetrics,
  SkipRateLimit,
} from '../../dist/esm/index.js';

const events = {};
const log = [];
const count = (counts, source) => (counts[source] = (counts[source] ?? 0) + 1);

class Routes {
  limited() {}
  async report() {
    const { rateLimit: health } = await app.get(RateLimitHealth).isHealthy();
    return { events, metrics: await decisionsMetered(), health, log };
  }
}
Controller()(Routes);
decorate('limited', Get());
decorate('report', Get('report'), SkipRateLimit());

function decorate(method, ...decorators) {
  const property = Object.getOwnPropertyDescriptor(Routes.prototype, method);
  for (const decorator of decorators) decorator(Routes.prototype, method, property);
}

const limits = RateLimitModule.forRoot({
  redis: process.argv[2],
  timeout: 200, // Long enough for a busy machine.
  rules: { default: { limit: 100, window: '1d', algorithm: 'sliding-window-log' } },
});
class App {}
Module({ imports: [limits], controllers: [Routes] })(App);

const keep = (message, context) => context === 'RateLimit' && log.push(message);
const app = await NestFactory.create(App, { logger: { log: keep, warn: keep, error: keep } });
app.set('trust proxy', 'loopback');

const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
const meters = new MeterProvider({
  readers: [new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })],
});
recordMetrics(app.get(RateLimitEvents), meters.getMeter('outage'));
app.get(RateLimitEvents).on('decision', ({ decision, context }) => {
  context.switchToHttp().getResponse().setHeader('x-source', decision.source);
  count(events, decision.source);
});

/** Returns the number of decisions of each source that OpenTelemetry exports. */
async function decisionsMetered() {
  exporter.reset();
  await meters.forceFlush();
  const metrics = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics[0]?.metrics ?? []);
  const points = metrics.find(isOfDecisions)?.dataPoints ?? [];
  const counts = {};
  for (const { attributes, value } of points) {
    const source = attributes['rate_limit.source'];
    counts[source] = (counts[source] ?? 0) + value;
  }
  return counts;
}

function isOfDecisions({ descriptor }) {
  return descriptor.name === 'rate_limit.decisions';
}

process.once('disconnect', async () => {
  await app.close();
  await meters.shutdown();
});
await app.listen(0, '127.0.0.1');
process.send(app.getHttpServer().address().port);
