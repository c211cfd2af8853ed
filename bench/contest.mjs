// Measures contestants in turn, round after round: what else the machine does meanwhile hits all alike.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { drive } from './lanes.mjs';
import { progress } from './report.mjs';
import { median, percentile, spread } from './stats.mjs';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc');

/** The setting of a limit that is never reached. */
export const ALL_LET_IN = { limit: 100_000, allowed: true };

/**
 * Measures entries in several rounds, each of which begins with another entry, and gives a row for each: what
 * its `row` says, then the medians of its rounds, and the `rounds` themselves.
 *
 * @param {object[]} entries `row`, and any part of the setting that is the entry's own
 * @param {object} setting what `drive` takes, and `rounds`, and
 *   `open`: makes the contestant for a round, from the setting;
 *   `server`: what has `cpuMicros()`, if the decisions are made there;
 *   `passes`: how often each subject is asked before the measurement (default 1),
 *   `once`: only before the first
 */
export async function contest(entries, setting) {
  const measured = entries.map(() => []);
  for (let round = 0; round < setting.rounds; round++) {
    progress(`round ${round + 1} of ${setting.rounds}`);
    for (let turn = 0; turn < entries.length; turn++) {
      const index = (round + turn) % entries.length;
      measured[index].push(await measure({ ...setting, ...entries[index] }, round));
    }
  }
  return entries.map(({ row }, index) => ({ ...row, ...summary(measured[index]) }));
}

/** Opens the contestant, warms it up, and measures it. */
async function measure(setting, round) {
  const { open, server, subjects, ms, passes = 1, once = false } = setting;
  const contestant = await open(setting);
  try {
    const run = contestant.drive ?? ((load) => drive(contestant, load));
    const atLeast = once && round > 0 ? 0 : subjects.length * passes;
    await run({ ...setting, ms: ms / 5, atLeast, allowed: undefined });
    collectGarbage(); // What the one before has left is not this one's to pay for.
    const before = await server?.cpuMicros();
    const figures = await run(setting);
    return figuresOf(figures, server && (await server.cpuMicros()) - before);
  } finally {
    await contestant.close?.();
  }
}

function figuresOf({ decisions, seconds, clientMicros, latencies }, serverMicros) {
  const sorted = latencies.toSorted((one, other) => one - other);
  return {
    perSecond: decisions / seconds,
    clientMicros: clientMicros / decisions,
    ...(serverMicros !== undefined && { serverMicros: serverMicros / decisions }),
    p50: percentile(sorted, 0.5),
    p99: percentile(sorted, 0.99),
  };
}

function summary(rounds) {
  const names = Object.keys(rounds[0]);
  const medians = names.map((name) => [name, median(rounds.map((round) => round[name]))]);
  return { ...Object.fromEntries(medians), spread: spread(rounds.map(({ perSecond }) => perSecond)), rounds };
}

/**
 * How many times the figure of another row a row has: the median of what it was in each round, whose
 * measurements lie closer together than those of different rounds.
 */
export function timesOf(row, other, figure) {
  return median(row.rounds.map((round, index) => round[figure] / other.rounds[index][figure]));
}

/**
 * The rows, each with `times`: how many times the figure of the row it is compared with it has.
 *
 * @param {(row: object) => object} baseOf picks the row to compare with
 */
export function compared(rows, figure, baseOf) {
  return rows.map((row) => ({ ...row, times: timesOf(row, baseOf(row), figure) }));
}
