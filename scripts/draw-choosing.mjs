// Draws docs/images/choosing.svg: the same requests decided by each algorithm, in memory and in virtual time.
//
//   node scripts/draw-choosing.mjs           writes the picture
//   node scripts/draw-choosing.mjs --print   prints it instead
import { writeFileSync } from 'node:fs';
import { ruleOf } from '../dist/repository/example.js';
import { algorithms } from '../dist/repository/registry.js';
import { MemoryStore } from '../dist/esm/index.js';
import { RateLimiter } from '../dist/esm/limiter.js';

const START = Date.UTC(2030, 0, 1, 12);
const SECONDS = 40;
const HELD = 2;

const every = (step, from, to) =>
  Array.from({ length: Math.round((to - from) / step) }, (_, n) => from + n * step);
const ARRIVALS = [
  ...[1, 4, 6.5],
  ...every(0.15, 8.45, 9.95), // Ten just before the edge of a window.
  ...every(0.15, 10.2, 11.7), // Ten just after it.
  ...every(1, 13, 21),
  ...every(0.15, 27, 29.1), // Fourteen after a pause.
  ...every(0.6, 30.5, 35.9),
].map((at) => Math.round(at * 100) / 100);

/** The rule of an algorithm in the picture, and the note below its name; without an entry, the first example. */
const SHOWN = {
  'fixed-window': [{ align: 'clock' }, "align: 'clock'"],
  'sliding-window-log': [{}, 'the default, exact'],
  'sliding-window-counter': [{}, 'approximate'],
  'sliding-window-cells': [{ cells: 5 }, 'cells: 5'],
  'token-bucket': [{}, 'burst: 10, as the limit'],
  gcra: [{ burst: 3 }, 'burst: 3'],
  'leaky-bucket': [{ queue: 5 }, 'queue: 5'],
  concurrency: [{ limit: 4, lease: '30s' }, `limit: 4, each takes ${HELD} s`],
};
const ROWS = Object.values(algorithms).map((algorithm) => {
  const [options, note] = SHOWN[algorithm.name] ?? [{}, ''];
  const rule = ruleOf(algorithm, algorithm.examples[0], { limit: 10, windowMs: 10_000 });
  return { rule: { ...rule, ...options }, note };
});

/**
 * Decides each arrival with a rule. Returns whether it is allowed, when it continues, and until when it holds its
 * permit.
 */
async function decide(rule) {
  let now = START;
  const limiter = new RateLimiter({ store: new MemoryStore({ clock: () => now }) });
  const held = [];
  const decided = [];
  for (const at of ARRIVALS) {
    while (held[0] && held[0].until <= at) {
      now = START + held[0].until * 1000;
      await held.shift().permit.release();
    }
    now = START + at * 1000;
    const isHeld = algorithms[rule.algorithm].leases === true;
    const permit = isHeld ? await limiter.hold(rule, 'all') : undefined;
    const { allowed, delayMs } = permit?.decision ?? (await limiter.consume(rule, 'all'));
    const goesAt = Math.round(at * 1000 + delayMs) / 1000;
    const until = isHeld ? at + HELD : goesAt;
    if (permit && allowed) held.push({ permit, until });
    decided.push({ at, allowed, goesAt, until });
  }
  limiter.close();
  return decided;
}

/** Returns the maximum number of requests that continued within any ten seconds. */
function mostInTenSeconds(decided) {
  const going = decided.filter(({ allowed }) => allowed).map(({ goesAt }) => goesAt);
  return Math.max(...going.map((end) => going.filter((at) => at <= end && end - at < 10 - 1e-6).length));
}

// The layout: a column of names, time from left to right, a column of figures.
const [WIDTH, LEFT, SCALE, TOP, ROW] = [980, 196, 15.5, 118, 56];
const HEIGHT = TOP + ROWS.length * ROW + 30;
const x = (at) => (LEFT + at * SCALE).toFixed(1);
const tick = (name, at, from, to) => `<path class="${name}" d="M${x(at)} ${from}V${to}"/>`;
const text = (name, at, y, content) => `<text class="${name}" x="${at}" y="${y}">${content}</text>`;

function drawRow({ rule, note }, decided, y) {
  const lanes = [];
  const marks = decided.map(({ at, allowed, goesAt, until }) => {
    if (!allowed) return tick('no', at, y + 3, y + 10);
    if (goesAt > at) {
      return `<path class="wait" d="M${x(at)} ${y}L${x(goesAt)} ${y - 18}"/>${tick('later', goesAt, y - 1, y - 18)}`;
    }
    if (until === at) return tick('yes', at, y - 1, y - 18);
    const free = lanes.findIndex((end) => end <= at);
    const lane = free < 0 ? lanes.length : free;
    lanes[lane] = until;
    const width = ((until - at) * SCALE - 1).toFixed(1);
    return `<rect class="held" x="${x(at)}" y="${y - 5 - lane * 5}" width="${width}" height="3.6"/>`;
  });
  const admitted = decided.filter(({ allowed }) => allowed).length;
  return [
    `<path class="line" d="M${x(0)} ${y}H${x(SECONDS + 1)}"/>`,
    text('name', 16, y - 6, rule.algorithm),
    text('note', 16, y + 9, note),
    ...marks,
    text('figure', 886, y - 3, admitted),
    text('figure', 946, y - 3, mostInTenSeconds(decided)),
  ].join('\n');
}

function drawFrame() {
  const clock = (at) => `12:00:${String(at).padStart(2, '0')}`;
  const grid = [0, 10, 20, 30, 40].flatMap((at) => [
    `<path class="grid" d="M${x(at)} ${TOP - 36}V${HEIGHT - 14}"/>`,
    text('time', x(at), TOP - 42, clock(at)),
  ]);
  const legend = [
    [tick('yes', 0, 5, -12), 'allowed'],
    [
      `<path class="wait" d="M${x(0)} 5L${x(0.9)} -12"/>${tick('later', 0.9, 5, -12)}`,
      'delayed, then allowed',
      14,
    ],
    [`<rect class="held" x="${x(0)}" y="-5" width="20" height="3.6"/>`, 'allowed, holds a permit', 20],
    [tick('no', 0, -1, -8), 'denied'],
  ];
  let left = 0;
  const entries = legend.map(([mark, meaning, wide = 0]) => {
    const entry = `<g transform="translate(${left} 50)">${mark}${text('note', LEFT + 8 + wide, 0, meaning)}</g>`;
    left += 46 + wide + meaning.length * 6.4;
    return entry;
  });
  return [...grid, ...entries].join('\n');
}

const STYLE = `
.panel{fill:#fff;stroke:#d0d7de}.title,.name{fill:#1f2328;font-weight:600}.title{font-size:16px}.name{font-size:13px}
.note,.time,.head{fill:#59636e;font-size:12px}.figure{fill:#1f2328;font-size:14px}
.time,.figure,.head{text-anchor:middle}.grid{stroke:#d0d7de;stroke-dasharray:2 4}.line{stroke:#afb8c1}
.all,.yes,.later,.no{stroke-width:1.9}.all{stroke:#59636e}.yes{stroke:#0969da}.later{stroke:#8250df}.no{stroke:#d1580b}
.wait{stroke:#8250df;stroke-opacity:.55;fill:none}.held{fill:#0969da}
@media(prefers-color-scheme:dark){.panel{fill:#0d1117;stroke:#3d444d}.title,.name,.figure{fill:#f0f6fc}
.note,.time,.head{fill:#9198a1}.grid{stroke:#3d444d}.line{stroke:#656c76}.all{stroke:#9198a1}.yes{stroke:#58a6ff}
.held{fill:#58a6ff}.later,.wait{stroke:#bc8cff}.no{stroke:#f0883e}}`;

function draw(decisions) {
  const arrivals = ARRIVALS.map((at) => tick('all', at, TOP - 1, TOP - 18));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" font-family="system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif" role="img">`,
    `<title>The same ${ARRIVALS.length} requests, decided by each algorithm</title>`,
    `<style>${STYLE}</style>`,
    `<rect class="panel" x=".5" y=".5" width="${WIDTH - 1}" height="${HEIGHT - 1}" rx="8"/>`,
    text(
      'title',
      16,
      27,
      `The same ${ARRIVALS.length} requests, decided by each algorithm: limit 10, window 10 s`,
    ),
    drawFrame(),
    `<path class="line" d="M${x(0)} ${TOP}H${x(SECONDS + 1)}"/>`,
    text('name', 16, TOP - 2, 'all requests'),
    ...arrivals,
    text('head', 886, TOP - 42, 'allowed'),
    text('head', 946, TOP - 56, 'most in'),
    text('head', 946, TOP - 42, 'any 10 s'),
    text('figure', 886, TOP - 3, ARRIVALS.length),
    ...ROWS.map((row, index) => drawRow(row, decisions[index], TOP + (index + 1) * ROW)),
    '</svg>\n',
  ].join('\n');
}

const decisions = [];
for (const { rule } of ROWS) decisions.push(await decide(rule));
const picture = draw(decisions);
if (process.argv.includes('--print')) process.stdout.write(picture);
else writeFileSync(new URL('../docs/images/choosing.svg', import.meta.url), picture);
