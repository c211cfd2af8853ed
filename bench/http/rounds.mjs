// Measures the rounds of a platform, and computes the rows of its table.
import { progress } from '../report.mjs';
import { median, spread } from '../stats.mjs';
import { BASE } from './contestants.mjs';
import { saturated, unhurried, warmUp, withApps } from './measure.mjs';

/** Returns one row per contestant. Each round measures all contestants, in another order. */
export function rowsOf(setup, times) {
  const { platform, server } = setup;
  const tell = (what, { contestant }, round) =>
    progress(`${platform}, ${what}, round ${round + 1}: ${contestant.name}`);
  return withApps(setup, async (apps) => {
    if (times.warmUp > 0) for (const app of apps) await warmUp(app, times.warmUp);
    const full = await inTurns(apps, times.rounds, (app, round) => {
      tell('full load', app, round);
      return saturated(app, server, times);
    });
    const steady = await inTurns(apps, times.steadyRounds, (app, round) => {
      tell('steady rate', app, round);
      return unhurried(app, times);
    });
    return apps.map((app) => rowOf(app, full.get(app), baseOf(full), steady.get(app)));
  });
}

/**
 * Returns the figures of every application, in the order of the rounds. Each round starts with another application.
 */
async function inTurns(apps, rounds, measure) {
  const figures = new Map(apps.map((app) => [app, []]));
  for (let round = 0; round < rounds; round++) {
    const first = (round * 2) % apps.length;
    for (const app of [...apps.slice(first), ...apps.slice(0, first)]) {
      figures.get(app).push(await measure(app, round));
    }
  }
  return figures;
}

function baseOf(figures) {
  return [...figures].find(([{ contestant }]) => contestant.name === BASE)[1];
}

/** Returns medians. Figures relative to the base are computed within the same round. */
function rowOf({ platform, contestant }, rounds, base, steady) {
  const of = (figure) => median(rounds.map((round) => round[figure]));
  const toBase = (compare) => median(rounds.map((round, index) => compare(round, base[index])));
  return {
    platform,
    name: contestant.name,
    title: contestant.title,
    appMicros: of('appMicros'),
    spread: spread(rounds.map(({ appMicros }) => appMicros)),
    ...(contestant.name !== BASE && { addedMicros: toBase((one, bare) => one.appMicros - bare.appMicros) }),
    perSecond: of('perSecond'),
    busy: of('busy'),
    share: toBase((one, bare) => one.perSecond / bare.perSecond),
    ...(contestant.redis && { serverMicros: of('serverMicros') }),
    p50: of('p50'),
    p99: of('p99'),
    steadyMicros: median(steady.map(({ steadyMicros }) => steadyMicros)),
    steadyP50: median(steady.map(({ steadyP50 }) => steadyP50)),
  };
}
