import { describe, expect, it } from '@jest/globals';
import { expectTimeline } from '../../../test/support/timeline.js';
import { Reference } from '../../../test/support/reference.js';
import { slidingWindowLog } from './sliding-window-log.js';

const NOON = Date.UTC(2024, 0, 1, 12);

describe('sliding-window-log, 3 per 10 s', () => {
  const threePerTenSeconds = () => new Reference(slidingWindowLog, { limit: 3, window: 10e6 });

  it('returns each permit exactly one window after it was taken', async () => {
    await expectTimeline(
      threePerTenSeconds().since(NOON),
      `
         at  cost | allowed  remaining  retry  reset
          0     1 | yes              2      0  10000
       4000     2 | yes              0      0  10000
       9999     1 | no               0      1   4001
      10000     1 | yes              0      0  10000
      13999     1 | no               0      1   6001
      14000     2 | yes              0      0  10000
      24000     0 | yes              3      0      0
      `,
    );
  });

  it('makes a large cost wait until enough requests have left the window, and no longer', async () => {
    await expectTimeline(
      threePerTenSeconds().since(NOON),
      `
         at  cost | allowed  remaining  retry  reset
          0     1 | yes              2      0  10000
       1000     1 | yes              1      0  10000
       2000     1 | yes              0      0  10000
       3000     1 | no               0   7000   9000
       3000     2 | no               0   8000   9000
       3000     3 | no               0   9000   9000
       3000     4 | no               0  never   9000
      11000     2 | yes              0      0  10000
      `,
    );
  });

  it('does not store denied requests, so that a client that keeps sending requests is allowed again', async () => {
    await expectTimeline(
      threePerTenSeconds().since(NOON),
      `
         at  cost | allowed  remaining  retry  reset
          0     3 | yes              0      0  10000
       3000     1 | no               0   7000   7000
       6000     1 | no               0   4000   4000
       9000     1 | no               0   1000   1000
      10000     1 | yes              2      0  10000
      `,
    );
  });
});

describe('sliding-window-log under steady load', () => {
  it('keeps at most the hits of one window in memory', () => {
    const reference = new Reference(slidingWindowLog, { limit: 100, window: 1e6 });
    let largest = 0;
    let denied = 0;
    for (let hit = 0; hit < 1000; hit++) {
      if (!reference.hit(hit * 10_000, 1).allowed) denied++;
      largest = Math.max(largest, held(reference.state));
    }
    expect(denied).toBe(0);
    // Expired entries are removed from the arrays when they are more than half of them.
    expect(largest).toBeLessThanOrEqual(2 * 100 + 2);
  });

  function held(log: unknown): number {
    return (log as { instants: number[] }).instants.length;
  }
});
