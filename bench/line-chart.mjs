// Draws a line chart as SVG.
import { picture, text } from './svg.mjs';

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [760, 380, 84, 200, 52, 40];
const [END, FLOOR] = [WIDTH - RIGHT, HEIGHT - BOTTOM];
const LABEL = 17;

/** The positions on an axis, from the lowest to the highest figure. */
function scaleOf([least, most], [from, to], isLog) {
  const at = isLog ? Math.log : (value) => value;
  return (value) => from + ((at(value) - at(least)) / (at(most) - at(least))) * (to - from);
}

/** Returns round figures around all values: multiples of 1, 2 and 5 on a logarithmic axis, otherwise from zero. */
function ticksOf(values, isLog) {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  if (!isLog) {
    const step = [1, 2, 5, 10]
      .map((by) => by * 10 ** Math.floor(Math.log10(most / 5)))
      .find((by) => by * 6 >= most);
    return Array.from({ length: Math.ceil(most / step) + 1 }, (_, index) => index * step);
  }
  const from = Math.floor(Math.log10(least));
  const decades = Math.ceil(Math.log10(most)) - from;
  const all = Array.from({ length: decades + 1 }, (_, index) => 10 ** (from + index));
  const finer = decades > 3 ? all : all.flatMap((tick) => [tick, 2 * tick, 5 * tick]);
  const below = finer.findLastIndex((tick) => tick <= least);
  const above = finer.findIndex((tick) => tick >= most);
  return finer.slice(below, above + 1);
}

/** Returns the positions of the names at the ends of their lines, without overlaps. */
function labelsOf(lines) {
  const labels = lines.map(({ name, kind, points }) => ({ name, kind, y: points.at(-1)[1] }));
  labels.sort((one, other) => one.y - other.y);
  for (const [index, { y }] of labels.entries()) {
    labels[index].y = Math.max(y, (labels[index - 1]?.y ?? 0) + LABEL);
  }
  for (const index of labels.keys()) {
    const label = labels.at(-1 - index);
    label.y = Math.min(label.y, (labels[labels.length - index]?.y ?? FLOOR + LABEL) - LABEL);
  }
  return labels.map(({ name, kind, y }) => text(`${kind} label`, END + 14, y + 4, name));
}

/**
 * Returns an SVG with a line for each name.
 *
 * @param {string} title
 * @param {Record<string, [x: number, y: number][]>} series
 * @param {{ logX?: boolean, logY?: boolean }} axes which axes are logarithmic
 */
export function lineChart(title, series, { logX = false, logY = false } = {}) {
  const all = Object.values(series).flat();
  const xs = [...new Set(all.map(([x]) => x))].sort((one, other) => one - other);
  const ys = ticksOf(
    all.map(([, y]) => y),
    logY,
  );
  const x = scaleOf([xs[0], xs.at(-1)], [LEFT + 16, END], logX);
  const y = scaleOf([ys[0], ys.at(-1)], [FLOOR, TOP], logY);
  const lines = Object.entries(series).map(([name, points], index) => ({
    name,
    kind: `line${index}`,
    points: points.map(([across, up]) => [x(across), y(up)]),
  }));
  return picture(title, WIDTH, HEIGHT, [
    ...ys.map((tick) => `<path class="grid" d="M${LEFT} ${y(tick).toFixed(1)}H${END}"/>`),
    ...ys.map((tick) => text('tick end', LEFT - 8, y(tick) + 4, tick.toLocaleString('en-US'))),
    ...xs.map((tick) => text('tick middle', x(tick), FLOOR + 20, tick.toLocaleString('en-US'))),
    ...lines.flatMap(drawLine),
    ...labelsOf(lines),
  ]);
}

function drawLine({ kind, points }) {
  const coordinates = points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`);
  const dots = points.map(
    ([x, y]) => `<circle class="${kind}" cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="2.5"/>`,
  );
  return [`<path class="${kind} path" d="M${coordinates.join('L')}"/>`, ...dots];
}
