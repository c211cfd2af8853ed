// Runs the benchmarks of decisions in sequence and prints their tables.
//
//   node bench/run.mjs [NAME …] [--quick] [--write]
//
// `--write` writes the tables into docs/performance.md and the charts into docs/images.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { CHARTS } from './charts.mjs';
import { checkMarkers, withTexts } from './page.mjs';
import { asked, conditions, progress } from './report.mjs';

const BENCHES = [
  'targets',
  'decisions',
  'latency',
  'three-rules',
  'refused',
  'hot-key',
  'memory',
  'bytes',
  'growth-rules',
  'growth-subjects',
  'growth-in-flight',
  'growth-limit',
  'growth-processes',
  'growth-cluster',
  'growth-connections',
  'capacity',
];
const PAGE = new URL('../docs/performance.md', import.meta.url);
const IMAGES = new URL('../docs/images/', import.meta.url);

/** Runs a benchmark in a separate process. Returns its output. */
async function measure(name) {
  const file = fileURLToPath(new URL(`${name}.mjs`, import.meta.url));
  const flags = ['--json', '--table', ...(asked.quick ? ['--quick'] : [])];
  const child = spawn(process.execPath, [file, ...flags], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [printed, [code]] = await Promise.all([text(child.stdout), once(child, 'close')]);
  if (code !== 0) throw new Error(`bench/${name}.mjs has failed`);
  return JSON.parse(printed);
}

function checkCommandLine(names, writes) {
  const unknown = names.filter((name) => !BENCHES.includes(name));
  if (unknown.length > 0) throw new Error(`got ${unknown.join(', ')}; allowed: ${BENCHES.join(', ')}`);
  if (!writes) return;
  if (asked.quick) throw new Error('--write takes what was measured in full, without --quick');
  checkMarkers(readFileSync(PAGE, 'utf8'), names);
}

function write(results) {
  const texts = Object.entries(results).map(([name, { machine, table }]) => [
    name,
    `${table}\n\n_${conditions(machine)}_`,
  ]);
  writeFileSync(PAGE, withTexts(readFileSync(PAGE, 'utf8'), Object.fromEntries(texts)));
  mkdirSync(IMAGES, { recursive: true });
  for (const [name, { rows }] of Object.entries(results)) {
    if (CHARTS[name]) writeFileSync(new URL(`${name}.svg`, IMAGES), CHARTS[name](rows));
  }
}

const writes = process.argv.includes('--write');
const named = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const names = named.length > 0 ? named : BENCHES;
checkCommandLine(names, writes);
const results = {};
for (const name of names) {
  const startedAt = performance.now();
  results[name] = await measure(name);
  progress(`${name}: ${((performance.now() - startedAt) / 1000).toFixed(0)} s`);
  const { machine, table } = results[name];
  console.log(`\n## ${name}\n\n${conditions(machine)}\n\n${table}`);
}
if (writes) write(results);
