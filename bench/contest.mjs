// Measures contestants alternately in several rounds, so that other work on the machine affects all of them.
import { cpus } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { drive } from './lanes.mjs';
import { asked, progress } from './report.mjs';
import { median, percentile, spread } from './stats.mjs';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc');

/** The setting for a limit that is never reached. */
export const ALL_LET_IN = { limit: 100_000, allowed: true };

/**
 * Measures entries in several rounds. Each round starts with another entry, and every second round has the reverse order,
 * because in one process an entry is faster behind a similar one, which has warmed up the code that both use. Returns a row for each
 * entry: its `row`, then the medians of its rounds, and the `rounds`.
 *
 * @param {object[]} entries `row`, and the parts of the setting that differ for this entry
 * @param {object} setting the arguments of `drive`, and: `rounds`; `open`, which creates the contestant from the setting,
 *   for all rounds if it has a process of its own, else for one; `server`, an object with `cpuMicros()`, if the decisions are made there; `passes`, how often
 *   each subject is decided before the measurement (default 1); `once`, to do this before the first round only;
 *   `mostRounds`, if rounds that other processes disturb are to be repeated: with fewer than `rounds` quiet ones, all count
 */
export async function contest(entries, setting) {
  const places = entries.map((entry) => ({ ...setting, ...entry }));
  const measured = entries.map(() => []);
  const { rounds, mostRounds = rounds } = setting;
  for (let round = 0; round < mostRounds && quietRounds(measured) < rounds; round++) {
    progress(`round ${round + 1} of ${mostRounds}`);
    for (let turn = 0; turn < entries.length; turn++) {
      const place = (round + turn) % entries.length;
      const index = round % 2 === 0 ? place : entries.length - 1 - place;
      measured[index].push(await measure(places[index], round));
    }
  }
  for (const { own } of places) await own?.close?.();
  const kept = quietRounds(measured) < rounds ? () => true : (_, round) => isQuiet(measured, round);
  return entries.map(({ row }, index) => ({ ...row, ...summary(measured[index].filter(kept)) }));
}

/** What other processes may use in a quiet round, in cores. */
const MOST_OTHERS = 0.15;

/** Whether no other process disturbed a round. */
export function isQuiet(measured, round) {
  return measured.every((rounds) => rounds[round].otherCores <= MOST_OTHERS);
}

function quietRounds(measured) {
  return measured[0].filter((_, round) => isQuiet(measured, round)).length;
}

/**
 * The warm-up as a multiple of the measurement, without `--quick`, which decides each subject once before it. V8 takes two
 * seconds to compile what a new process runs often.
 */
const WARM_UP = asked.quick ? 0 : 0.5;
const FIRST_WARM_UP = asked.quick ? 0 : 4;

/** Creates the contestant, unless it has a process of its own since the first round, warms it up, and measures it. */
async function measure(place, round) {
  const { server, subjects, ms, passes = 1, once = false } = place;
  // Before the warm-up, since a collection without decisions in flight also discards the code compiled for their objects.
  collectGarbage();
  const contestant = place.own ?? (await place.open(place));
  const isInside = !contestant.drive;
  const warmUp = isInside || place.own ? WARM_UP : FIRST_WARM_UP;
  if (!isInside) place.own = contestant;
  try {
    const run = contestant.drive ?? ((load) => drive(contestant, load));
    const atLeast = once && round > 0 ? 0 : subjects.length * passes;
    await run({ ...place, ms: ms * warmUp, atLeast, allowed: undefined });
    const before = await usedBy(server);
    const figures = await run(place);
    const after = await usedBy(server);
    if (!isInside) after.others -= figures.clientMicros;
    return figuresOf(figures, before, after);
  } finally {
    if (isInside) await contestant.close?.();
  }
}

/** Returns the CPU time so far: of the server, of its scripts, and of every other process of the machine. */
async function usedBy(server) {
  const serverMicros = await server?.cpuMicros();
  const scriptMicros = await server?.scriptMicros();
  const { user, system } = process.cpuUsage();
  const busy = cpus().reduce((sum, { times: { user, nice, sys, irq } }) => sum + user + nice + sys + irq, 0);
  return { serverMicros, scriptMicros, others: busy * 1000 - user - system - (serverMicros ?? 0) };
}

function figuresOf({ decisions, seconds, clientMicros, latencies }, before, after) {
  const sorted = latencies.toSorted((one, other) => one - other);
  const each = (name) => (after[name] - before[name]) / decisions;
  return {
    perSecond: decisions / seconds,
    clientMicros: clientMicros / decisions,
    ...(after.serverMicros !== undefined && {
      serverMicros: each('serverMicros'),
      scriptMicros: each('scriptMicros'),
    }),
    p50: percentile(sorted, 0.5),
    p99: percentile(sorted, 0.99),
    p9999: percentile(sorted, 0.9999),
    otherCores: (after.others - before.others) / (seconds * 1e6),
  };
}

function summary(rounds) {
  const names = Object.keys(rounds[0]);
  const medians = names.map((name) => [name, median(rounds.map((round) => round[name]))]);
  return { ...Object.fromEntries(medians), spread: spread(rounds.map(({ perSecond }) => perSecond)), rounds };
}

/**
 * Returns the ratio of a row's figure to that of another row: the median of the ratios within each round, because
 * conditions within a round are similar.
 */
export function timesOf(row, other, figure) {
  return median(row.rounds.map((round, index) => round[figure] / other.rounds[index][figure]));
}

/**
 * Returns the rows, each with `times`: the ratio of its figure to that of the row it is compared with.
 *
 * @param {(row: object) => object} baseOf returns the row to compare with
 */
export function compared(rows, figure, baseOf) {
  return rows.map((row) => ({ ...row, times: timesOf(row, baseOf(row), figure) }));
}
