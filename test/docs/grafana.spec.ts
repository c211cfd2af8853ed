import { readFileSync } from 'node:fs';
import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { RateLimitEvents } from '../../lib/limiter/events.js';
import { ServerStates } from '../../lib/limiter/server-state.js';
import { StoreFault } from '../../lib/contracts/store-fault.js';
import { recordMetrics, type Decision, type RuleDecision } from '../../lib/index.js';
import { pathOf } from '../readme/code-blocks.js';

/** Matches the name of a series or label, or the pattern of one, in a query. */
const NAME = /(?:rate_limit|error|server)_[a-z_]+(?:\(_seconds\)\?[a-z_]+)?/g;
const LABEL_VALUE = /(rate_limit_\w+)="([^"]*)"/g;

interface Dashboard {
  readonly panels: readonly {
    readonly title: string;
    readonly targets: readonly { readonly expr: string }[];
  }[];
}

const { panels } = JSON.parse(readFileSync(pathOf('docs/grafana.json'), 'utf8')) as Dashboard;
const queries = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));

/** Returns what an exporter for Prometheus publishes after each kind of event. */
async function published(): Promise<string> {
  const exporter = new PrometheusExporter({ preventServerStart: true });
  const provider = new MeterProvider({ readers: [exporter] });
  const events = new RateLimitEvents();
  events.servers = new ServerStates();
  recordMetrics(events, provider.getMeter('rate-limit'));
  const sources = ['redis', 'memory', 'cache', 'fallback'] as const;
  for (const source of sources) {
    for (const [allowed, shadow] of [
      [true, false],
      [false, false],
      [false, true],
    ]) {
      const rule = { rule: 'login', allowed, shadow, source } as RuleDecision;
      const decision = { allowed, source, decisions: [rule] } as unknown as Decision;
      events.decided([], { decision, durationMs: 1 });
    }
  }
  const error = new StoreFault('timeout', 'TIMEOUT', 'no reply');
  events.storeFailed(error, 'decision');
  events.storeChanged({ server: '10.0.0.7:6379', error });
  const { resourceMetrics } = await exporter.collect();
  await provider.shutdown();
  return new PrometheusSerializer().serialize(resourceMetrics);
}

describe('docs/grafana.json', () => {
  let series: string[];
  let labels: string[];
  let text: string;

  beforeAll(async () => {
    text = await published();
    series = [...text.matchAll(/^(rate_limit_\w+)\{/gm)].map(([, name]) => name!);
    labels = [...text.matchAll(/[{,](\w+)="/g)].map(([, name]) => name!);
  });

  it('docs/grafana.json has queries of series and labels that the package emits, as an exporter for Prometheus names them', () => {
    expect(queries.length).toBeGreaterThan(10);
    const known = [...new Set([...series, ...labels])];
    const unknown = queries
      .flatMap((query) => query.match(NAME) ?? [])
      .filter((name) => !known.some((each) => new RegExp(`^${name}$`).test(each)));
    expect(unknown).toEqual([]);
    expect(new Set(series).size).toBe(6);
  });

  it('docs/grafana.json compares labels with values that the package emits', () => {
    const unknown = queries
      .flatMap((query) => [...query.matchAll(LABEL_VALUE)])
      .map(([, label, value]) => `${label}="${value}"`)
      .filter((pair) => !text.includes(pair));
    expect(unknown).toEqual([]);
  });

  it('docs/grafana.json shows every series that the package emits', () => {
    const isShown = (name: string) =>
      queries.some((query) => query.match(NAME)?.some((each) => new RegExp(`^${each}$`).test(name)));
    expect([...new Set(series)].filter((name) => !name.endsWith('_sum') && !isShown(name))).toEqual([]);
  });
});
