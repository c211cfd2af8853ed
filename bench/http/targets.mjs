// The targets of a request on Fastify: ratios of this package's figures to those of bare guards, from one run.

const added = ({ addedMicros }) => addedMicros;
const whole = ({ appMicros }) => appMicros;
const addedP50 = ({ steadyP50 }, base) => steadyP50 - base.steadyP50;

/** The figure, the contestants whose figures are divided, and at most which ratio; without one it is only reported. */
const TARGETS = [
  {
    ratio: 'added p50 at 2,000 requests/s, to a bare batched guard',
    figure: addedP50,
    of: ['ours-redis-1', 'bare-redis'],
    most: 1.2,
  },
  {
    ratio: 'added CPU in memory, to a guard that does nothing',
    figure: added,
    of: ['ours-memory', 'async-guard'],
    most: 1.5,
  },
  {
    ratio: 'added CPU on Redis, to a bare batched guard',
    figure: added,
    of: ['ours-redis-1', 'bare-redis'],
    most: 1.5,
  },
  {
    ratio: 'added CPU of a reservation of three rules, to the decision of the guard',
    figure: added,
    of: ['reserved-redis-3', 'ours-redis-3'],
    most: 1.1,
  },
  {
    ratio: 'CPU of a 429 from the cache, to a guard that throws one prepared exception',
    figure: whole,
    of: ['ours-refused', 'bare-refused'],
    most: 0.9,
  },
  {
    ratio: 'CPU of a 429 from the cache, to an allowed request on Redis',
    figure: whole,
    of: ['ours-refused', 'ours-redis-1'],
  },
];

/** Returns a row for each target whose contestants were measured. */
export function targetRows(rows) {
  const rowOf = (name) => rows.find((row) => row.name === name && row.platform === 'fastify');
  return TARGETS.flatMap(({ ratio, figure, of, most }) => {
    const [ours, other] = of.map(rowOf);
    if (!ours || !other) return [];
    const seen = figure(ours, rowOf('nothing')) / figure(other, rowOf('nothing'));
    return [{ ratio, seen, most, result: most === undefined ? '' : seen <= most ? 'pass' : 'miss' }];
  });
}
