import { spawn } from 'node:child_process';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { text } from 'node:stream/consumers';
import { expect, it } from '@jest/globals';
import type { Simulation } from '../../lib/simulate/simulate.js';
import { pathOf } from '../readme/code-blocks.js';
import { PATIENCE_MS, scaled, tell } from './scale.js';

const START = Date.UTC(2025, 9, 10);
const CLIENTS = 100;
/** The sum of the first 100 odd numbers. */
const LINES_A_MINUTE = CLIENTS ** 2;
const MINUTES = scaled(1000, 20);
const LINES = MINUTES * LINES_A_MINUTE;
/** Clients return after so many minutes. */
const GROUPS = 100;

/** Requests of a minute above an even limit: the sum of the odd numbers below 200 - limit. */
const deniedAMinute = (limit: number): number => ((2 * CLIENTS - limit) / 2) ** 2;

/** A log in which the nth of 100 clients sends 2n + 1 requests at once, in each minute another hundred clients. */
function* log(): Generator<string> {
  const agent =
    '"https://shop.example.com/catalog/tea?page=12" "Mozilla/5.0 (X11; Linux x86_64) Chrome/141.0.0.0"';
  const request = `"GET /catalog/tea/green/sencha?page=12&sort=price HTTP/1.1" 200 15432 ${agent}`;
  for (let minute = 0; minute < MINUTES; minute += 1) {
    const [day, time] = new Date(START + minute * 60_000).toISOString().slice(8, 19).split('T') as [
      string,
      string,
    ];
    let lines = '';
    for (let n = 0; n < CLIENTS; n += 1) {
      const ip = `10.20.${minute % GROUPS}.${n}`;
      lines += `${ip} - - [${day}/Oct/2025:${time} +0000] ${request}\n`.repeat(2 * n + 1);
    }
    yield lines;
  }
}

/** Simulates the log, as a stream. */
async function simulated(...args: string[]): Promise<Simulation> {
  const child = spawn(process.execPath, [pathOf('dist/esm/cli.js'), 'simulate', '-', ...args, '--json']);
  const [output] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    pipeline(Readable.from(log()), child.stdin),
  ]);
  return JSON.parse(output) as Simulation;
}

it(
  'the simulator denies what a formula gives for a long log, and a replay confirms the limits that it suggests',
  async () => {
    const algorithms = ['fixed-window align=clock', 'sliding-window-log', 'gcra', 'token-bucket'];
    const from = performance.now();
    const found = await simulated(
      '--suggest',
      '1%',
      ...algorithms.flatMap((name) => ['--rule', `150/1m ${name}`]),
    );
    const seconds = (performance.now() - from) / 1000;
    expect([found.lines, found.requests, found.malformed, found.late]).toEqual([LINES, LINES, 0, 0]);
    for (const { denied, clients, clientsDenied, worstSecond } of found.rules) {
      expect([denied, clients, clientsDenied, worstSecond?.denied]).toEqual([
        deniedAMinute(150) * MINUTES,
        CLIENTS * Math.min(MINUTES, GROUPS),
        25 * Math.min(MINUTES, GROUPS),
        deniedAMinute(150),
      ]);
    }

    // A limit of 180 denies 100 of 10,000 requests: 1 %. A limit of 179 denies 110.
    const names = ['fixed-window', 'sliding-window-log', 'gcra', 'token-bucket'];
    const suggested = found.suggestions.filter(({ algorithm }) => names.includes(algorithm));
    expect(suggested).toHaveLength(names.length + 1); // The rule with align=clock has one of its own.
    for (const { limit, denied } of suggested) expect([limit, denied]).toEqual([180, 100 * MINUTES]);

    const neighbours = found.suggestions.flatMap(({ rule, limit }) => [
      rule,
      rule.replace(String(limit), String(limit! - 1)),
    ]);
    const { rules } = await simulated(...neighbours.flatMap((rule) => ['--rule', rule]));
    found.suggestions.forEach(({ denied, clientsDenied }, index) => {
      const [own, less] = rules.slice(2 * index, 2 * index + 2);
      expect(own).toMatchObject({ denied, clientsDenied });
      expect(own!.denied).toBeLessThanOrEqual(LINES / 100);
      expect(less!.denied).toBeGreaterThan(LINES / 100);
    });
    tell('simulated log', { lines: LINES, seconds, linesASecond: Math.round(LINES / seconds) });
  },
  PATIENCE_MS,
);
