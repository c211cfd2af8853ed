// What every bench here does with its figures: print a table, or JSON with `--json`, which has the table as
// well with `--table`.
import { availableParallelism } from 'node:os';

/** `--quick`, `--json` and `--table`, as the command line has them. */
export const asked = {
  quick: process.argv.includes('--quick'),
  json: process.argv.includes('--json'),
  table: process.argv.includes('--table'),
};

/** Says how far a bench is, where it is not in the way of what it prints. */
export function progress(step) {
  process.stderr.write(`${step}\n`);
}

/** What the figures depend on besides the code. */
export function machine(others = {}) {
  return { cores: availableParallelism(), node: process.versions.node, ...others };
}

/**
 * @param {object} machine what the figures were measured with
 * @param {object[]} rows figures by their name
 * @param {Record<string, (value: any) => string>} columns how a table spells each, by its title
 * @param {object[]} lines of the table, where they are not the rows
 */
export function report(machine, rows, columns, lines = rows) {
  const cells = lines.map((row) => Object.values(columns).map((spell) => spell(row)));
  const spelled = table(Object.keys(columns), cells);
  if (asked.json) {
    console.log(JSON.stringify({ machine, rows, ...(asked.table && { table: spelled }) }));
    return;
  }
  console.log(conditions(machine));
  console.log(`\n${spelled}`);
}

/** What the figures were measured with, in a line. */
export function conditions(machine) {
  return Object.entries(machine)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ');
}

/** A Markdown table, to be read as it is and pasted into the docs. */
function table(titles, rows) {
  const widths = titles.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column].length)),
  );
  const line = (cells) => `| ${cells.map((cell, column) => cell.padEnd(widths[column])).join(' | ')} |`;
  return [line(titles), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}
