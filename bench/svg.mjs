// The common parts of all charts: panel, title, and colours for light and dark backgrounds.
const COLOURS = [
  ['ours', '#0969da', '#58a6ff'],
  ['control', '#6e7781', '#9198a1'],
  ['peer', '#d1580b', '#f0883e'],
  ['line0', '#0969da', '#58a6ff'],
  ['line1', '#d1580b', '#f0883e'],
  ['line2', '#1a7f37', '#3fb950'],
  ['line3', '#8250df', '#bc8cff'],
  ['line4', '#9a6700', '#d29922'],
  ['line5', '#bf3989', '#f778ba'],
  ['line6', '#0a7b83', '#39c5cf'],
  ['line7', '#cf222e', '#ff7b72'],
];
const paint = (shade) =>
  COLOURS.map((colour) => `.${colour[0]}{fill:${colour[shade]};stroke:${colour[shade]}}`).join('');
const STYLE = `
.panel{fill:#fff;stroke:#d0d7de}.title{fill:#1f2328;font-weight:600;font-size:16px}
.name,.figure{fill:#1f2328;font-size:13px}.tick{fill:#59636e;font-size:12px}
.grid{stroke:#d0d7de;stroke-dasharray:2 4}.label{font-size:13px}.path{stroke-width:2}
.end{text-anchor:end}.middle{text-anchor:middle}
${paint(1)}
@media(prefers-color-scheme:dark){.panel{fill:#0d1117;stroke:#3d444d}.title,.name,.figure{fill:#f0f6fc}
.tick{fill:#9198a1}.grid{stroke:#3d444d}
${paint(2)}}
.path{fill:none}.label,.bar{stroke:none}`;

/** Returns a complete SVG with the given content. */
export function picture(title, width, height, drawn) {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif" role="img">`,
    `<title>${escape(title)}</title>`,
    `<style>${STYLE}</style>`,
    `<rect class="panel" x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="8"/>`,
    text('title', 16, 27, title),
    ...drawn,
    '</svg>\n',
  ].join('\n');
}

/** Returns a line of text at a position. */
export function text(names, x, y, content) {
  return `<text class="${names}" x="${x.toFixed(1)}" y="${y.toFixed(1)}">${escape(content)}</text>`;
}

function escape(content) {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
