import type { RuleDecision } from '../contracts/decision.js';
import { callSafely } from '../contracts/thenable.js';
import { warn, type RateLimitEvents } from './events.js';
import type { GaugeCallback, Meter, MeterAttributes } from './meter.js';

/** In seconds; finest where answers come, and one step at the default timeout of 50 ms. */
const DURATION_BUCKETS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1];

/**
 * Records decisions, store errors and open circuit breakers with a meter of OpenTelemetry. No attribute has a
 * subject. Call it once for each limiter: a second call counts everything twice.
 *
 * @param events the events of the limiter, injected or `limiter.events`
 * @param meter a meter such as `metrics.getMeter('rate-limit')` of `@opentelemetry/api`
 * @returns a function that stops recording
 * @example
 * recordMetrics(events, metrics.getMeter('rate-limit'));
 */
export function recordMetrics(events: RateLimitEvents, meter: Meter): () => void {
  const recorders = [recordDecisions, recordStoreErrors, recordBreakers];
  const stops = recorders.map((record) => record(events, meter));
  return () => {
    for (const stop of stops) stop();
  };
}

/** Each rule of a request by itself, and the request as a whole with its duration. */
function recordDecisions(events: RateLimitEvents, meter: Meter): () => void {
  const decisions = meter.createCounter('rate_limit.decisions', {
    description: 'Decisions on rules, each rule of a request by itself.',
    unit: '{decision}',
  });
  const duration = meter.createHistogram('rate_limit.decision.duration', {
    description: 'How long it took to decide a request, the answer of the store included.',
    unit: 's',
    advice: { explicitBucketBoundaries: DURATION_BUCKETS },
  });
  const add = (attributes: MeterAttributes): unknown => decisions.add(1, attributes);
  return events.on('decision', ({ decision, durationMs }) => {
    const { allowed, source } = decision;
    for (const each of decision.decisions) {
      const attributes = {
        'rate_limit.rule': each.rule,
        'rate_limit.outcome': outcomeOf(each),
        'rate_limit.source': each.source ?? source,
      };
      callSafely(add, attributes, warn);
    }
    return duration.record(durationMs / 1000, {
      'rate_limit.outcome': allowed ? 'allowed' : 'denied',
      'rate_limit.source': source,
    });
  });
}

function outcomeOf({ allowed, shadow }: RuleDecision): string {
  if (allowed) return 'allowed';
  return shadow ? 'shadow-denied' : 'denied';
}

function recordStoreErrors(events: RateLimitEvents, meter: Meter): () => void {
  const errors = meter.createCounter('rate_limit.store.errors', {
    description: 'Calls that the store did not answer, or was not asked since it does not answer.',
    unit: '{error}',
  });
  return events.on('storeError', ({ error }) => errors.add(1, { 'error.type': typeOf(error) }));
}

/** One of few words for an error: its code, the word in capitals that a reply begins with, or its name. */
function typeOf(error: unknown): string {
  if (!(error instanceof Error)) return '_OTHER';
  const { code } = error as { code?: unknown };
  if (typeof code === 'string') return code;
  return /^[A-Z]{2,20}\b/.exec(error.message)?.[0] ?? error.name;
}

/** Servers are told from when they are first given up. */
function recordBreakers(events: RateLimitEvents, meter: Meter): () => void {
  const breakers = meter.createObservableGauge('rate_limit.breaker.open', {
    description: 'Whether a server of the store is given up: 1, or 0 once it decides again.',
    unit: '{breaker}',
  });
  const servers = new Set(events.openCircuits.keys());
  const tell: GaugeCallback = (result) => {
    for (const server of servers) result.observe(events.openCircuits.has(server) ? 1 : 0, placeOf(server));
  };
  breakers.addCallback(tell);
  const forget = events.on('breaker', ({ server }) => servers.add(server));
  return () => {
    forget();
    breakers.removeCallback(tell);
  };
}

/** The address in OpenTelemetry's words; none where there is only one server. */
function placeOf(server: string): MeterAttributes {
  if (server === '') return {};
  const colon = server.lastIndexOf(':');
  return { 'server.address': server.slice(0, colon), 'server.port': Number(server.slice(colon + 1)) };
}
