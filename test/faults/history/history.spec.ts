import { beforeAll, describe, expect, it } from '@jest/globals';
import { hasRedisBinary } from '../../support/redis/shared-redis.js';
import { PATIENCE_MS } from '../scale.js';
import { serverFaults } from '../server-faults.js';
import { wayFaults } from '../way-faults.js';
import { violationsIn, type HistoryLine } from './check-history.mjs';
import { recordFault } from './record-fault.js';

interface Report {
  readonly kind: 'report';
  readonly by: 'log' | 'event' | 'health' | 'process';
  readonly level?: string;
  readonly message?: string;
  readonly event?: string;
  readonly state?: string;
  readonly status?: string;
  readonly degraded?: boolean;
}

// Docker starts one shared server, which no fault may stop.
(hasRedisBinary() ? describe : describe.skip).each([...serverFaults, ...wayFaults])('$name', (fault) => {
  let history: HistoryLine[];
  let reports: Report[];
  let decidedByFallback: number;

  beforeAll(async () => {
    history = await recordFault(fault);
    reports = history.filter(({ kind }) => kind === 'report') as unknown as Report[];
    decidedByFallback = history.filter(({ source }) => source === 'fallback').length;
  }, PATIENCE_MS);

  it('breaks no promise that the history of two processes can show', () => {
    expect(violationsIn(history)).toEqual([]);
  });

  it('is reported by log, event and health if the fallback decided any request', () => {
    const reporters = new Set(
      reports
        .filter(({ by, level, degraded }) => (by === 'log' ? level !== 'log' : by !== 'health' || degraded))
        .map(({ by }) => by),
    );
    expect(reporters).not.toContain('process');
    if (decidedByFallback > 0) expect([...reporters].toSorted()).toEqual(['event', 'health', 'log']);
  });

  it('is logged once for each change of state and each kind of error, in words', () => {
    const lines = reports.filter(({ by }) => by === 'log').map(({ message = '' }) => message);
    const changes = reports.filter(({ by, event }) => by === 'event' && event === 'breaker').length;
    const kinds = new Set(lines).size;
    expect(lines.length).toBeLessThanOrEqual(changes + kinds);
    for (const line of lines) expect(line).not.toMatch(/enableOfflineQueue|\d\.\d{3,}/);
  });

  it('leaves health without a reason once Redis decides again', () => {
    expect(reports.filter(({ by }) => by === 'health').at(-1)).toMatchObject({
      status: 'up',
      degraded: false,
    });
  });
});
