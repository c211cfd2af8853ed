// Draws docs/images/layers.svg: the layers of docs/live-rules.md, and the fields that an example gets from each.
//
//   node scripts/draw-layers.mjs           writes the picture
//   node scripts/draw-layers.mjs --print   prints it instead
import { readFileSync, writeFileSync } from 'node:fs';

const page = readFileSync(new URL('../docs/live-rules.md', import.meta.url), 'utf8');

/** The layers of the table on the page, first to last, and when each changes. */
const LAYERS = Array.from(page.matchAll(/^\| \d\. (.+?) *\|.*\| (.+?) *\|$/gm), ([, name, changes]) => ({
  name: name.replaceAll('`', ''),
  changes: changes.replaceAll('`', ''),
}));

/** The fields of the example: what a layer states, by its place in the table. */
const FIELDS = ['window', 'limit', 'by', 'mode'];
const STATED = [
  { mode: 'shadow' },
  { window: '1m', limit: 100, by: 'ip' },
  { limit: 50 },
  { limit: 20, window: '10s' },
  { mode: 'enforce' },
  { limit: 3 },
  { limit: 1000 },
];
if (LAYERS.length !== STATED.length) throw new Error('docs/live-rules.md has another number of layers');

// The layout: a column of names, one column for each field, the last layer on top.
const [WIDTH, LEFT, COLUMN, TOP, ROW] = [980, 560, 100, 82, 44];
const BOTTOM = TOP + LAYERS.length * ROW;
const HEIGHT = BOTTOM + 68;
const x = (field) => LEFT + field * COLUMN;
const y = (layer) => TOP + (LAYERS.length - 1 - layer) * ROW;
const winner = (field) => STATED.findLastIndex((stated) => field in stated);
const text = (name, at, top, content) => `<text class="${name}" x="${at}" y="${top}">${content}</text>`;

function drawCell(field, column, layer) {
  if (!(field in STATED[layer])) return [];
  const name = winner(field) === layer ? 'wins' : 'loses';
  return [
    `<rect class="${name}" x="${x(column) - 42}" y="${y(layer) + 6}" width="84" height="32" rx="5"/>`,
    text(`value ${name}-value`, x(column), y(layer) + 27, STATED[layer][field]),
  ];
}

function drawLayer({ name, changes }, layer) {
  return [
    `<path class="line" d="M16 ${y(layer) + ROW}H${WIDTH - 16}"/>`,
    text('name', 16, y(layer) + 19, `${layer + 1}. ${name}`),
    text('note', 33, y(layer) + 36, `changes with ${changes}`),
    ...FIELDS.flatMap((field, column) => drawCell(field, column, layer)),
  ];
}

const STYLE = `
.panel{fill:#fff;stroke:#d0d7de}.title,.name{fill:#1f2328;font-weight:600}.title{font-size:16px}.name{font-size:13px}
.note,.head{fill:#59636e;font-size:12px}.head,.value{text-anchor:middle}.value{font-size:13px}.line{stroke:#d0d7de}
.wins{fill:#0969da}.wins-value{fill:#fff;font-weight:600}.loses{fill:none;stroke:#afb8c1;stroke-dasharray:3 3}
.loses-value{fill:#59636e;text-decoration:line-through}
@media(prefers-color-scheme:dark){.panel{fill:#0d1117;stroke:#3d444d}.title,.name{fill:#f0f6fc}
.note,.head,.loses-value{fill:#9198a1}.line{stroke:#3d444d}.loses{stroke:#656c76}.wins{fill:#58a6ff}
.wins-value{fill:#0d1117}}`;

const picture = [
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" font-family="system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif" role="img">`,
  '<title>The order of layers: the last layer that states a field decides it</title>',
  `<style>${STYLE}</style>`,
  `<rect class="panel" x=".5" y=".5" width="${WIDTH - 1}" height="${HEIGHT - 1}" rx="8"/>`,
  text('title', 16, 27, 'The highest layer that states a field decides it'),
  ...FIELDS.map((field, column) => text('head', x(column), TOP - 10, field)),
  `<path class="line" d="M16 ${TOP}H${WIDTH - 16}"/>`,
  ...LAYERS.flatMap(drawLayer),
  text('name', 16, BOTTOM + 38, 'effective rule of the subject'),
  ...FIELDS.map((field, column) => text('value name', x(column), BOTTOM + 38, STATED[winner(field)][field])),
  '</svg>\n',
].join('\n');
if (process.argv.includes('--print')) process.stdout.write(picture);
else writeFileSync(new URL('../docs/images/layers.svg', import.meta.url), picture);
