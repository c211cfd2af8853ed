import { readdirSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { NO_MODULE } from '../../lib/nest/checks/module-check.js';
import { WARNING_CODES } from '../../lib/nest/warning-codes.js';
import { pathOf, textOf } from '../readme/code-blocks.js';

const PAGE = 'docs/troubleshooting.md';

/** The text of all messages in lib: concatenated strings are one text, and `…` stands for each value. */
const MESSAGES = readdirSync(pathOf('lib'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !/\.(spec|lua)\.ts$/.test(file))
  .map((file) => textOf(`lib/${file}`))
  .join('\n')
  .replace(/['"`]\s*\+\s*['"`]/g, '')
  .replaceAll('\\`', '`');

/** The log lines that the page quotes: the text in backquotes in cells of a column `log`. */
function quotedLines(): string[] {
  const tables = textOf(PAGE).match(/^\|.*\n(^\|.*\n)+/gm) ?? [];
  return tables.flatMap((table) => {
    const [titles, , ...rows] = table.trim().split('\n').map(cellsOf);
    const logged = rows.map((cells) => cells[titles!.indexOf('log')]!.replace(/\[.*?\]\(.*?\)/g, ''));
    return logged.flatMap((cell) => Array.from(cell.matchAll(/`([^`]+)`/g), ([, line]) => line!));
  });
}

function cellsOf(row: string): string[] {
  return row
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
}

describe(PAGE, () => {
  it.each(quotedLines())('docs/troubleshooting.md quotes a line that the package logs: %s', (line) => {
    const parts = line.split('…').map((part) => part.trim());
    expect(parts.filter((part) => !MESSAGES.includes(part))).toEqual([]);
  });

  it('docs/troubleshooting.md explains every warning about a symptom and links to its section', () => {
    const linked = textOf(PAGE).matchAll(/\[`(RL_\w+)`\]\(warnings\.md#(\w+)\)/g);
    const codes = new Set(
      Array.from(linked, ([, code, anchor]) => (anchor === code!.toLowerCase() ? code : anchor)),
    );
    // These report limits that are enforced: at a cost, during an outage, by dropping an event, or on an open page.
    const others = [
      'RL_CHANGES_UNREPORTED',
      'RL_CONCURRENCY_FALLBACK',
      'RL_DASHBOARD_OPEN',
      'RL_EVENT_DENIED',
      'RL_LARGE_LOG',
    ];
    expect([...codes, ...others].sort()).toEqual([...WARNING_CODES, NO_MODULE].sort());
  });
});
