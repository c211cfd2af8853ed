// The charts of the benchmarks: functions from the rows of a benchmark to an SVG.
import { barChart } from './bar-chart.mjs';
import { thousands, threeDigits } from './columns.mjs';
import { lineChart } from './line-chart.mjs';

/** A bar for each row, with its name and the compared figure. */
function bars(title, rows, figure, format = thousands) {
  return barChart(
    title,
    rows.map((row) => ({
      name: row.limiter ?? row.key,
      value: row[figure],
      label: format(row[figure]),
    })),
  );
}

/** A line for each limiter or algorithm, with one figure on each axis. */
function linesOf(rows, from, to, name = (row) => row.limiter) {
  const lines = {};
  for (const row of rows) (lines[name(row)] ??= []).push([row[from], row[to]]);
  return lines;
}

const onManyKeys = ({ keys }) => keys > 1;

/** The charts by the name of the benchmark. */
export const CHARTS = {
  decisions: (rows) =>
    bars('Decisions per second, allowed requests: one process, 64 in flight, 10,000 keys', rows, 'perSecond'),
  latency: (rows) => bars('Median latency of a single decision, microseconds', rows, 'p50', threeDigits),
  refused: (rows) =>
    bars('Decisions per second, denied requests: 10,000 keys', rows.filter(onManyKeys), 'perSecond'),
  memory: (rows) => bars('Decisions per second in memory: 10,000 keys', rows.filter(onManyKeys), 'perSecond'),
  bytes: (rows) =>
    bars(
      'Bytes of Redis for a subject after one hit',
      rows.filter(({ entries }) => entries === 1),
      'bytes',
    ),
  'growth-rules': (rows) =>
    lineChart('Microseconds of the process, by rules of a request', linesOf(rows, 'rules', 'clientMicros')),
  'growth-subjects': (rows) =>
    lineChart(
      'Microseconds per decision, by subjects',
      {
        process: rows.map((row) => [row.subjects, row.clientMicros]),
        Redis: rows.map((row) => [row.subjects, row.serverMicros]),
      },
      { logX: true },
    ),
  'growth-in-flight': (rows) =>
    lineChart('Decisions per second, by decisions in flight', linesOf(rows, 'inFlight', 'perSecond'), {
      logX: true,
      logY: true,
    }),
  'growth-limit': (rows) =>
    lineChart(
      'Microseconds in the script, by the limit',
      linesOf(rows, 'limit', 'scriptMicros', (row) => row.algorithm),
      { logX: true },
    ),
  'growth-processes': (rows) =>
    lineChart('Decisions per second, by processes', linesOf(rows, 'processes', 'perSecond')),
  'growth-cluster': (rows) =>
    lineChart('Decisions per second, by nodes of a cluster', linesOf(rows, 'nodes', 'perSecond')),
};
