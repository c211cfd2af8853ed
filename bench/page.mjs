// Writes the output of the benchmarks between the markers of a page: `<!-- bench:NAME -->` and `<!-- /bench -->`.
const END = '<!-- /bench -->';

/**
 * Returns the page with the text of each benchmark between its markers.
 *
 * @param {string} page Markdown
 * @param {Record<string, string>} texts by the name of the benchmark
 * @throws Error that lists the markers that the page lacks
 */
export function withTexts(page, texts) {
  checkMarkers(page, Object.keys(texts));
  let written = page;
  for (const [name, text] of Object.entries(texts)) {
    const { from, to } = placeOf(written, name);
    written = `${written.slice(0, from)}\n\n${text}\n\n${written.slice(to)}`;
  }
  return written;
}

/**
 * Checks the markers before a measurement.
 *
 * @throws Error that lists the markers that the page lacks
 */
export function checkMarkers(page, names) {
  const missing = names.filter((name) => placeOf(page, name) === undefined);
  if (missing.length === 0) return;
  const markers = missing.map((name) => `${startOf(name)} … ${END}`);
  throw new Error(`The page has no place for these; add a line with each: ${markers.join(', ')}`);
}

function startOf(name) {
  return `<!-- bench:${name} -->`;
}

/** Returns the position of the text between the markers; `undefined` if they are missing or in another order. */
function placeOf(page, name) {
  const start = page.indexOf(startOf(name));
  if (start < 0) return undefined;
  const from = start + startOf(name).length;
  const to = page.indexOf(END, from);
  const next = page.indexOf('<!-- bench:', from);
  return to < 0 || (next >= 0 && next < to) ? undefined : { from, to };
}
