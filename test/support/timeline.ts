import { expect } from '@jest/globals';
import type { RuleDecision } from '../../lib/index.js';

/** The fields of a decision in a timeline. */
export type Answer = Pick<RuleDecision, 'allowed' | 'remaining' | 'retryAfterMs' | 'resetAfterMs'>;

/**
 * Requests permits at an instant.
 *
 * @param at milliseconds since the timeline's start, fractions allowed
 */
export type DecideOptions = (at: number, cost: number) => Answer | Promise<Answer>;

const COLUMNS = ['at', 'cost', '|', 'allowed', 'remaining', 'retry', 'reset'];

/**
 * Plays a table of hits in order, and expects exactly the decisions in the table. All times are in milliseconds; `never` means that waiting does not help. A failure shows a diff of the full tables.
 *
 * @example
 * await expectTimeline(ask, `
 *      at  cost | allowed  remaining  retry  reset
 *       0     5 | yes              0      0  10000
 *    9999     1 | no               0      1      1
 *   10000     6 | no               5  never      0
 * `);
 */
export async function expectTimeline(ask: DecideOptions, table: string): Promise<void> {
  const [header = [], ...rows] = table.trim().split('\n').map(cellsOf);
  if (header.join() !== COLUMNS.join()) throw new Error(`A timeline's columns are: ${COLUMNS.join(' ')}`);
  const played: string[][] = [];
  for (const [at = '', cost = ''] of rows) {
    played.push([at, cost, '|', ...answerCells(await ask(Number(at), Number(cost)))]);
  }
  expect(draw(played)).toBe(draw(rows));
}

function cellsOf(line: string): string[] {
  const cells = line.trim().split(/\s+/);
  if (cells.length !== COLUMNS.length)
    throw new Error(`A timeline's row has ${COLUMNS.length} cells: ${line}`);
  return cells;
}

function answerCells({ allowed, remaining, retryAfterMs, resetAfterMs }: Answer): string[] {
  return [allowed ? 'yes' : 'no', String(remaining), String(retryAfterMs ?? 'never'), String(resetAfterMs)];
}

function draw(rows: readonly string[][]): string {
  const table = [COLUMNS, ...rows];
  const widths = COLUMNS.map((_, column) => Math.max(...table.map((cells) => cells[column]!.length)));
  return table
    .map((cells) => cells.map((cell, column) => cell.padStart(widths[column]!)).join('  '))
    .join('\n');
}
