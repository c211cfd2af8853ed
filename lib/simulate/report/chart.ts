import type { Bar } from '../timeline.js';

const WIDTH = 960;
const HEIGHT = 160;

/** Returns the bars as an SVG image: allowed, delayed and denied requests, stacked. */
export function chart(bars: readonly Bar[], label: string): string {
  const most = Math.max(1, ...bars.map(({ allowed, delayed, denied }) => allowed + delayed + denied));
  const width = WIDTH / Math.max(1, bars.length);
  const columns = bars.map((bar, index) => {
    const title = `${timeOf(bar.start)}, ${bar.seconds} s: ${bar.allowed} allowed, ${bar.delayed} delayed, ${bar.denied} denied`;
    let top = HEIGHT;
    const parts = (['allowed', 'delayed', 'denied'] as const).map((outcome) => {
      const height = (bar[outcome] / most) * HEIGHT;
      top -= height;
      if (height === 0) return '';
      return `<rect class="${outcome}" x="${fixed(index * width)}" y="${fixed(top)}" width="${fixed(Math.max(width * 0.85, 0.5))}" height="${fixed(height)}"/>`;
    });
    return `<g><title>${title}</title>${parts.join('')}</g>`;
  });
  return `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${label}">${columns.join('')}</svg>`;
}

/** Returns the text below a chart. */
export function axisOf(bars: readonly Bar[]): string {
  const [first, last] = [bars[0], bars.at(-1)];
  if (!first || !last) return '';
  const most = Math.max(...bars.map(({ allowed, delayed, denied }) => allowed + delayed + denied));
  return `${timeOf(first.start)} to ${timeOf(last.start + last.seconds)}; a bar is ${first.seconds} s, the highest has ${most} requests`;
}

function timeOf(second: number): string {
  return `${new Date(second * 1000).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

function fixed(value: number): string {
  return value.toFixed(2);
}
