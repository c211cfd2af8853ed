import type { Bar } from '../tally.js';
import type { RuleResult, Simulation } from '../simulate.js';
import type { Target } from '../suggest.js';
import {
  notesOf,
  summaryOf,
  verdictOf,
  count,
  instant,
  percent,
  printable,
  suggestionRows,
  suggestionTitle,
} from './text-report.js';

/** The size of the bars. */
const WIDTH = 960;

const HEIGHT = 160;

/** The space for the labels of the axes, to the left and below. */
const LEFT = 70;

const BELOW = 22;

/** Returns the bars, at least one, as an SVG image with axes: allowed, delayed and denied requests, stacked. */
function chart(bars: readonly Bar[], label: string): string {
  const most = mostOf(bars);
  const width = WIDTH / bars.length;
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
  const box = `${-LEFT} -8 ${WIDTH + LEFT} ${HEIGHT + BELOW + 8}`;
  return `<svg viewBox="${box}" role="img" aria-label="${label}">${axes(bars, most)}${columns.join('')}</svg>`;
}

/** Returns the lines and labels of the axes: requests of a bar upwards, time to the right. */
function axes(bars: readonly Bar[], most: number): string {
  const requests = [0, 0.5, 1].map((part) => {
    const y = fixed(HEIGHT * (1 - part));
    return `<path d="M0 ${y}H${WIDTH}"/><text x="-8" y="${y}" dy="4" text-anchor="end">${count(most * part)}</text>`;
  });
  const [first, last] = [bars[0]!, bars.at(-1)!];
  const length = last.start + last.seconds - first.start;
  const parts = length < 4 ? [0, 1] : [0, 0.25, 0.5, 0.75, 1];
  const times = parts.map((part) => {
    const anchor = part === 0 ? 'start' : part === 1 ? 'end' : 'middle';
    const [from, until] = length > 172_800 ? [0, 10] : [11, 19];
    const at = timeOf(first.start + Math.round(length * part)).slice(from, until);
    return `<text x="${fixed(WIDTH * part)}" y="${HEIGHT + BELOW - 4}" text-anchor="${anchor}">${at}</text>`;
  });
  return [...requests, ...times].join('');
}

/** Returns the text below a chart. */
function captionOf(bars: readonly Bar[]): string {
  const [first, last] = [bars[0]!, bars.at(-1)!];
  return `${timeOf(first.start)} to ${timeOf(last.start + last.seconds)}; a bar is ${first.seconds} s, the highest has ${mostOf(bars)} requests`;
}

function mostOf(bars: readonly Bar[]): number {
  return Math.max(...bars.map(({ allowed, delayed, denied }) => allowed + delayed + denied));
}

function timeOf(second: number): string {
  return `${new Date(second * 1000).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

function fixed(value: number): string {
  return value.toFixed(2);
}

const STYLE = `
:root {
  color-scheme: light dark;
  --page: #ffffff; --text: #1f2328; --line: #d0d7de; --allowed: #2e7d5b; --delayed: #b37400; --denied: #c0392b;
}
@media (prefers-color-scheme: dark) {
  :root { --page: #14171c; --text: #e6edf3; --line: #3d444d; --allowed: #4fb286; --delayed: #e0a52e; --denied: #f0715f; }
}
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
html, body { background: var(--page); color: var(--text); }
h2 { margin-top: 2.5rem; }
table { border-collapse: collapse; margin: 0.5rem 0 1.5rem; }
th, td { padding: 0.2rem 1rem 0.2rem 0; text-align: left; border-bottom: 1px solid var(--line); vertical-align: top; }
tbody th { font-weight: normal; } td { font-variant-numeric: tabular-nums; }
svg { width: 100%; height: auto; }
svg text { font-size: 13px; fill: var(--text); } svg path { stroke: var(--line); }
rect.allowed { fill: var(--allowed); } rect.delayed { fill: var(--delayed); } rect.denied { fill: var(--denied); }
.key span { margin-right: 1rem; }
.key span::before { content: ''; display: inline-block; width: 0.7em; height: 0.7em; margin-right: 0.4em; }
.key .allowed::before { background: var(--allowed); } .key .delayed::before { background: var(--delayed); }
.key .denied::before { background: var(--denied); }
p, h2, bdi, code { overflow-wrap: anywhere; }`;

/** Returns the report as one HTML page without external parts and scripts. All text of the log is escaped. */
export function htmlReport(simulation: Simulation, target: Target | undefined): string {
  const title = 'Rate limit simulation';
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${title}</h1>
${paragraph(summaryOf(simulation))}
${verdictOf(simulation, target).map(paragraph).join('\n')}
${notesOf(simulation).map(paragraph).join('\n')}
${simulation.rules.map(section).join('\n')}
${target ? suggestions(simulation, target) : ''}
</main>
</body>
</html>
`;
}

function section(result: RuleResult): string {
  const { rule, requests, allowed, delayed, denied, clients, clientsDenied, worstSecond, timeline } = result;
  const rows = [
    ['requests', count(requests)],
    ['allowed', `${count(allowed)} (${percent(allowed, requests)})`],
    ['of these, delayed', count(delayed)],
    ['denied', `${count(denied)} (${percent(denied, requests)})`],
    ['clients denied', `${count(clientsDenied)} of ${count(clients)}`],
    ['worst second', worstSecond ? `${instant(worstSecond.at)}: ${count(worstSecond.denied)} denied` : '-'],
  ];
  const name = text(rule);
  return `<section>
<h2><code>${name}</code></h2>
<p class="key"><span class="allowed">allowed</span><span class="delayed">delayed</span><span class="denied">denied</span></p>
${chart(timeline, `Requests by outcome over time: ${name}`)}
<p>${text(captionOf(timeline), 200)}</p>
${table(rows.map((row) => row.map((cell) => text(cell))))}
${worstClients(result)}
</section>`;
}

function worstClients({ worstClients: worst }: RuleResult): string {
  if (worst.length === 0) return '';
  const rows = worst.map(({ client, denied, requests }) => [
    `<bdi>${text(client)}</bdi>`,
    count(denied),
    count(requests),
  ]);
  return table(rows, ['client', 'denied', 'requests']);
}

function suggestions(simulation: Simulation, target: Target): string {
  const [head, ...rows] = suggestionRows(simulation).map((row) => row.map((cell) => text(cell, Infinity)));
  return `<section>
<h2>${suggestionTitle(target)}</h2>
${table(rows, head)}
</section>`;
}

/** @param rows cells as HTML */
function table(rows: readonly (readonly string[])[], head: readonly string[] = []): string {
  const titles = head.map((title) => `<th scope="col">${title}</th>`).join('');
  const body = rows.map(([first, ...cells]) => {
    const others = cells.map((cell) => `<td>${cell}</td>`).join('');
    return `<tr><th scope="row">${first}</th>${others}</tr>`;
  });
  const thead = titles && `<thead><tr>${titles}</tr></thead>`;
  return `<table>${thead}<tbody>${body.join('')}</tbody></table>`;
}

function paragraph(line: string): string {
  return `<p>${text(line, 1000)}</p>`;
}

/** Returns text as HTML. */
function text(value: string, longest?: number): string {
  return printable(value, longest).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
