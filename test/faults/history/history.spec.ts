import { beforeAll, describe, expect, it } from '@jest/globals';
import { PATIENCE_MS } from '../scale.js';
import { serverFaults } from '../server-faults.js';
import { wayFaults } from '../way-faults.js';
import { violationsIn, type HistoryLine } from './check-history.mjs';
import { recordFault } from './record-fault.js';

interface Report {
  readonly kind: 'report';
  readonly at: number;
  readonly process: number;
  readonly by: 'log' | 'event' | 'health' | 'process';
  readonly level?: string;
  readonly message?: string;
  readonly event?: string;
  readonly call?: string;
  readonly state?: string;
  readonly status?: string;
  readonly degraded?: boolean;
  readonly askedAt?: number;
}

/** How long health stays degraded after a decision that failed. */
const DEGRADED_FOR_MS = 10_000;

describe.each([...serverFaults, ...wayFaults])('$name', (fault) => {
  let history: HistoryLine[];
  let reports: Report[];
  let decidedByFallback: number;

  beforeAll(async () => {
    history = await recordFault(fault);
    reports = history.filter(({ kind }) => kind === 'report') as unknown as Report[];
    decidedByFallback = history.filter(({ source }) => source === 'fallback').length;
  }, 4 * PATIENCE_MS);

  it('the histories of two processes satisfy every guarantee during a fault', () => {
    expect(violationsIn(history)).toEqual([]);
  });

  it('a fault is reported by log, event and health if the fallback decided any request', () => {
    const reporters = new Set(
      reports
        .filter(({ by, level, degraded }) => (by === 'log' ? level !== 'log' : by !== 'health' || degraded))
        .map(({ by }) => by),
    );
    expect(reporters).not.toContain('process');
    if (decidedByFallback > 0) expect([...reporters].toSorted()).toEqual(['event', 'health', 'log']);
  });

  it('a fault is logged in words, once for each change of state and each kind of error', () => {
    for (const own of byProcess()) {
      const lines = own.filter(({ by }) => by === 'log').map(({ message = '' }) => message);
      const changes = own.filter(({ by, event }) => by === 'event' && event === 'breaker').length;
      expect(lines.length).toBeLessThanOrEqual(changes + new Set(lines).size);
      for (const line of lines) expect(line).not.toMatch(/enableOfflineQueue|\d\.\d{3,}/);
    }
  });

  it('health is degraded while the breaker is open and for 10 s after a decision of the fallback', () => {
    for (const own of byProcess()) {
      const last = own.findLastIndex(({ by }) => by === 'health');
      const { status, degraded, askedAt = 0, at } = own[last]!;
      const turn = own.slice(0, last).findLastIndex(({ event }) => event === 'breaker');
      if ((own[turn]?.at ?? 0) > askedAt) continue; // The breaker turned while health was asked for.
      const failures = own.slice(turn + 1, last).filter(({ call }) => call === 'decision');
      const hasFailedAfter = (instant: number) =>
        own[turn]?.state === 'open' || failures.some((failure) => failure.at > instant);
      expect(status).toBe('up');
      if (hasFailedAfter(at - DEGRADED_FOR_MS)) expect(degraded).toBe(true);
      if (!hasFailedAfter(askedAt - DEGRADED_FOR_MS)) expect(degraded).toBe(false);
    }
  });

  /** The reports of each process. */
  function byProcess(): Report[][] {
    const processes = new Set(reports.map(({ process }) => process));
    return [...processes].map((each) => reports.filter(({ process }) => process === each));
  }
});
