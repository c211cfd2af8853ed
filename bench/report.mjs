// Prints the figures of a benchmark: as a table, or as JSON with `--json`, which includes the table with `--table`.
import { availableParallelism } from 'node:os';

/** Whether the command line has `--quick`, `--json` and `--table`. */
export const asked = {
  quick: process.argv.includes('--quick'),
  json: process.argv.includes('--json'),
  table: process.argv.includes('--table'),
};

/** Reports the progress of a benchmark where it does not mix with the output. */
export function progress(step) {
  process.stderr.write(`${step}\n`);
}

/** The environment on which the figures depend. */
export function machine(others = {}) {
  return { cores: availableParallelism(), node: process.versions.node, ...others };
}

/**
 * @param {object} machine the environment of the measurement
 * @param {object[]} rows figures by name
 * @param {Record<string, (value: any) => string>} columns formats the figures of a column, by its title
 * @param {object[]} lines of the table, if they differ from the rows
 */
export function report(machine, rows, columns, lines = rows) {
  const cells = lines.map((row) => Object.values(columns).map((format) => format(row)));
  const markdown = table(Object.keys(columns), cells);
  if (asked.json) {
    console.log(JSON.stringify({ machine, rows, ...(asked.table && { table: markdown }) }));
    return;
  }
  console.log(conditions(machine));
  console.log(`\n${markdown}`);
}

/** Returns the environment of the measurement as one line. */
export function conditions(machine) {
  return Object.entries(machine)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ');
}

/** Returns a Markdown table for the terminal and the documentation. */
function table(titles, rows) {
  const widths = titles.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column].length)),
  );
  const line = (cells) => `| ${cells.map((cell, column) => cell.padEnd(widths[column])).join(' | ')} |`;
  return [line(titles), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}
