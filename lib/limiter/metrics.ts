import type { RuleDecision } from '../contracts/decision.js';
import { callSafely } from '../contracts/thenable.js';
import { rejectValue } from '../contracts/rate-limit-config.error.js';
import { warn, type RateLimitEvents } from './events.js';

/** Attributes of a measurement. */
type MeterAttributes = Record<string, string | number>;

/** Options of an instrument. */
interface InstrumentOptions {
  /** One sentence on what is measured. */
  readonly description: string;
  /** Unit, such as `s`. */
  readonly unit: string;
  /** Bucket boundaries of a histogram. */
  readonly advice?: { explicitBucketBoundaries: number[] };
}

/** Reports the values of a gauge when it is collected. */
type GaugeCallback = (result: { observe(value: number, attributes: MeterAttributes): void }) => void;

/** The methods of OpenTelemetry's `Meter` that `recordMetrics` calls. */
export interface Meter {
  /** Creates a counter. */
  createCounter(
    name: string,
    options: InstrumentOptions,
  ): { add(value: number, attributes: MeterAttributes): unknown };
  /** Creates a histogram. */
  createHistogram(
    name: string,
    options: InstrumentOptions,
  ): { record(value: number, attributes: MeterAttributes): unknown };
  /** Creates a gauge that is read when it is collected. */
  createObservableGauge(
    name: string,
    options: InstrumentOptions,
  ): { addCallback(callback: GaugeCallback): void; removeCallback(callback: GaugeCallback): void };
}

/** In seconds: finest around usual durations, with a boundary at the default timeout of 50 ms. */
const DURATION_BUCKETS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1];

/**
 * Records decisions, store errors and open circuit breakers with a meter of OpenTelemetry. Attributes never
 * contain a subject. Call it once per limiter: a second call counts everything twice.
 *
 * @param events the events of the limiter, injected or `limiter.events`
 * @param meter a meter such as `metrics.getMeter('rate-limit')` of `@opentelemetry/api`
 * @returns a function that stops recording
 * @throws RateLimitConfigError if an argument has another type
 * @example
 * recordMetrics(events, metrics.getMeter('rate-limit'));
 */
export function recordMetrics(events: RateLimitEvents, meter: Meter): () => void {
  checkArgument('events', events, 'on', 'RateLimitEvents, or `events` of a limiter');
  checkArgument('meter', meter, 'createCounter', 'a meter such as metrics.getMeter("rate-limit")');
  const stops = [recordDecisions, recordStoreErrors, recordBreakers].map((record) => record(events, meter));
  return () => stops.forEach((stop) => stop());
}

/** @throws RateLimitConfigError if a value lacks the method that identifies its type */
function checkArgument(name: string, value: unknown, method: string, allowed: string): void {
  if (typeof (value as Record<string, unknown> | null | undefined)?.[method] === 'function') return;
  rejectValue(`${name} of recordMetrics`, value, allowed);
}

/** Records the result of each rule of a request, and the duration of the whole decision. */
function recordDecisions(events: RateLimitEvents, meter: Meter): () => void {
  const decisions = meter.createCounter('rate_limit.decisions', {
    description: 'Number of decisions, one for each rule of a request.',
    unit: '{decision}',
  });
  const duration = meter.createHistogram('rate_limit.decision.duration', {
    description: 'Duration of the decision of a request, including the call to the store.',
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
        ...(each.unit !== undefined && { 'rate_limit.unit': each.unit }),
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
    description: 'Number of calls to the store that failed, or that an open circuit breaker stopped.',
    unit: '{error}',
  });
  return events.on('storeError', ({ error }) => errors.add(1, { 'error.type': error.code }));
}

/** Reports each server from the first time that its circuit breaker opens. */
function recordBreakers(events: RateLimitEvents, meter: Meter): () => void {
  const breakers = meter.createObservableGauge('rate_limit.breaker.open', {
    description: 'Whether the circuit breaker of a server is open: 1, or 0 once it has closed.',
    unit: '{breaker}',
  });
  const servers = new Set(events.openCircuits.keys());
  const observe: GaugeCallback = (result) => {
    for (const server of servers) result.observe(events.openCircuits.has(server) ? 1 : 0, addressOf(server));
  };
  breakers.addCallback(observe);
  const removeListener = events.on('breaker', ({ server }) => servers.add(server));
  return () => {
    removeListener();
    breakers.removeCallback(observe);
  };
}

/** Returns the address as attributes of OpenTelemetry's conventions; none if there is only one server. */
function addressOf(server: string): MeterAttributes {
  if (server === '') return {};
  const colon = server.lastIndexOf(':');
  return { 'server.address': server.slice(0, colon), 'server.port': Number(server.slice(colon + 1)) };
}
