import type { RuleResult, Simulation } from '../simulate.js';
import type { Target } from '../suggest.js';
import { axisOf, chart } from './chart.js';
import { notesOf, summaryOf } from './notes.js';
import { count, instant, percent, printable } from './printable.js';

const STYLE = `
:root { color-scheme: light dark; --allowed: #2e7d5b; --delayed: #c98a00; --denied: #c0392b; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 0.5rem 0 1.5rem; }
th, td { padding: 0.2rem 1rem 0.2rem 0; text-align: left; border-bottom: 1px solid #8884; }
svg { width: 100%; height: auto; border-bottom: 1px solid #8888; }
.allowed { fill: var(--allowed); } .delayed { fill: var(--delayed); } .denied { fill: var(--denied); }
.key span::before { content: '\\25a0\\00a0'; } .key span { margin-right: 1rem; }
.key .allowed { color: var(--allowed); } .key .delayed { color: var(--delayed); } .key .denied { color: var(--denied); }
small { opacity: 0.75; } bdi, code { overflow-wrap: anywhere; }`;

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
<h1>${title}</h1>
${summaryOf(simulation).map(paragraph).join('\n')}
${notesOf(simulation).map(paragraph).join('\n')}
${simulation.rules.map(section).join('\n')}
${target ? suggestions(simulation, target) : ''}
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
<p><small>${text(axisOf(timeline), 200)}</small></p>
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

function suggestions({ suggestions: found, requests }: Simulation, { share, of }: Target): string {
  const rows = found.map(({ rule, limit, denied, clientsDenied }) =>
    limit === null
      ? [text(rule), 'no limit denies so few', '']
      : [
          `<code>${text(rule)}</code>`,
          `${count(denied)} (${percent(denied, requests)})`,
          count(clientsDenied),
        ],
  );
  return `<section>
<h2>Smallest limits that deny at most ${Number((share * 100).toPrecision(12))} % of ${of}</h2>
${table(rows, ['rule', 'denied', 'clients denied'])}
</section>`;
}

/** @param rows cells as HTML */
function table(rows: readonly (readonly string[])[], head: readonly string[] = []): string {
  const cells = (row: readonly string[], tag: string) =>
    `<tr>${row.map((cell) => `<${tag}>${cell}</${tag}>`).join('')}</tr>`;
  const first = head.length > 0 ? `<thead>${cells(head, 'th')}</thead>` : '';
  return `<table>${first}<tbody>${rows.map((row) => cells(row, 'td')).join('')}</tbody></table>`;
}

function paragraph(line: string): string {
  return `<p>${text(line, 1000)}</p>`;
}

/** Returns text as HTML. */
function text(value: string, longest?: number): string {
  const entities: Readonly<Record<string, string>> = {
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': '&quot;',
    "'": '&#39;',
  };
  return printable(value, longest).replace(/[&<>"']/g, (character) => entities[character]!);
}
