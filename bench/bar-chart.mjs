// Draws a bar chart as SVG.
import { picture, text } from './svg.mjs';

const [WIDTH, LEFT, RIGHT, TOP, ROW, BAR] = [760, 280, 100, 44, 30, 18];

/** Returns the colour class of a bar by its name. */
function kindOf(name) {
  if (/^(bare|PING)/.test(name)) return 'control';
  return /^(this library|[a-z]+-window|gcra|token|leaky|concurrency|sliding)/.test(name) ? 'ours' : 'peer';
}

/**
 * Returns an SVG with a bar for each figure, starting at zero.
 *
 * @param {string} title
 * @param {{ name: string, value: number, label: string }[]} figures
 */
export function barChart(title, figures) {
  const scale = (WIDTH - LEFT - RIGHT) / Math.max(...figures.map(({ value }) => value));
  const drawn = figures.flatMap(({ name, value, label }, index) => {
    const y = TOP + index * ROW;
    const length = Math.max(1, value * scale);
    return [
      text('name', 16, y + 14, name),
      `<rect class="${kindOf(name)} bar" x="${LEFT}" y="${y}" width="${length.toFixed(1)}" height="${BAR}" rx="2"/>`,
      text('figure', LEFT + length + 8, y + 14, label),
    ];
  });
  return picture(title, WIDTH, TOP + figures.length * ROW + 8, drawn);
}
