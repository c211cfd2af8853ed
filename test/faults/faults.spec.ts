import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { FAULTS_OF_A_SERVER } from './every-fault.js';
import type { ServerFault } from './fault.js';
import { runFault, type Run } from './run-fault.js';
import { PATIENCE_MS, scaled } from './scale.js';
import { printTable } from './table.js';

/** The limit of a guest of load.mjs. */
const LIMIT = 5;
/** The deadline of application.mjs. */
const TIMEOUT_MS = 50;
/** The longest wait of a hit, without delays of the event loop. */
const LONGEST_MS = 1.1 * TIMEOUT_MS;
/** What timers and this machine add to that. */
const LEEWAY_MS = 25;
/** The cache of keys (32,768 at most) fills in a full run, and is cleared. */
const LEEWAY_BYTES = scaled(12e6, 4e6);

const runs = new Map<ServerFault, Run>();

describe.each(FAULTS_OF_A_SERVER)('$name', (fault) => {
  let run: Run;
  let phases: [string, Run['during']][];

  beforeAll(async () => {
    run = await runFault(fault);
    runs.set(fault, run);
    phases = Object.entries(run.phases);
  }, PATIENCE_MS);

  it('every request during a fault is decided within the deadline', () => {
    for (const [name, { asked, decided, longestOwnWait }] of phases) {
      expect([name, decided]).toEqual([name, asked]);
      expect([name, longestOwnWait > LONGEST_MS + LEEWAY_MS && longestOwnWait]).toEqual([name, false]);
    }
  });

  it('Redis or the fallback decides requests during a fault as intended', () => {
    const { redis, fallback, memory } = run.during;
    expect(memory).toBe(0);
    if (fault.deciding === 'fallback')
      expect([fault.decidesSome ? 0 : redis, fallback > 0]).toEqual([0, true]);
    if (fault.deciding.endsWith('redis')) expect(redis).toBeGreaterThan(fallback);
    // A deadline is missed only if the machine was too busy to run the processes.
    if (fault.deciding === 'only redis' && fallback > 0) expect(run.notRunMs).toBeGreaterThan(TIMEOUT_MS);
    expect(run.after.inARow).toBeGreaterThanOrEqual(200);
  });

  it('Redis never exceeds the limit or charges a request twice during a fault', () => {
    for (const [name, { mostOfAGuest, tally }] of phases) {
      expect([name, mostOfAGuest > LIMIT && mostOfAGuest]).toEqual([name, false]);
      expect([name, run.tallies[name]! > tally.asked]).toEqual([name, false]);
      const isForgotten = fault.forgets && (name === 'before' || name === 'onset');
      if (!isForgotten) expect([name, run.tallies[name]! < tally.admitted]).toEqual([name, false]);
    }
    expect(run.after.mostOfAGuest).toBe(LIMIT);
  });

  it('the breaker opens once during a fault and closes when it is over', () => {
    const { turns, during, healing } = run;
    const states = turns.map(({ state }) => state);
    expect(states).toEqual(states.map((_, nth) => (nth % 2 === 0 ? 'open' : 'closed')));
    expect(states.length % 2).toBe(0);
    if (fault.breaker === 'any') return;
    const whileOn = turns.filter(({ at }) => at >= during.startedAt && at < healing.startedAt);
    expect(whileOn.map(({ state }) => state)).not.toContain('closed');
    const causes = turns.flatMap(({ state, cause }) => (state === 'open' ? [cause] : []));
    expect(causes.length).toBeGreaterThan(0);
    // It opens again only if the machine was too busy to run the processes.
    expect(causes.filter((cause) => cause !== 'timeout').length).toBeLessThanOrEqual(1);
    if (causes.length > 1) expect(run.notRunMs).toBeGreaterThan(TIMEOUT_MS);
  });

  it('a fault leaks no handle and no heap', () => {
    const { before, after } = run.rest;
    expect(after.handles).toEqual(before.handles);
    expect(after.heap - before.heap).toBeLessThan(LEEWAY_BYTES);
    expect(run.warnings).toEqual([]);
  });
});

afterAll(() => printTable(runs));
