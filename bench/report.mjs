// What every bench here does with its figures: print a table, or JSON with `--json`.
import { availableParallelism } from 'node:os';

/** `--quick` and `--json`, as the command line has them. */
export const asked = {
  quick: process.argv.includes('--quick'),
  json: process.argv.includes('--json'),
};

/** What the figures depend on besides the code. */
export function machine(others = {}) {
  return { cores: availableParallelism(), node: process.versions.node, ...others };
}

/**
 * @param {object} machine what the figures were measured with
 * @param {object[]} rows figures by their name
 * @param {Record<string, (value: any) => string>} columns how a table spells each, by its title
 */
export function report(machine, rows, columns) {
  if (asked.json) {
    console.log(JSON.stringify({ machine, rows }));
    return;
  }
  console.log(
    Object.entries(machine)
      .map(([name, value]) => `${name} ${value}`)
      .join(', '),
  );
  console.log(
    table(
      Object.keys(columns),
      rows.map((row) => Object.values(columns).map((spell) => spell(row))),
    ),
  );
}

/** A Markdown table, to be read as it is and pasted into the docs. */
function table(titles, rows) {
  const widths = titles.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column].length)),
  );
  const line = (cells) => `| ${cells.map((cell, column) => cell.padEnd(widths[column])).join(' | ')} |`;
  return ['', line(titles), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}
