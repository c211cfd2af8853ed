import { describe, it } from '@jest/globals';
import { expectTimeline } from '../../../test/support/timeline.js';
import { Reference } from '../../../test/support/reference.js';
import { fixedWindow, type FixedWindowOptions } from './fixed-window.js';

const NOON = Date.UTC(2024, 0, 1, 12);

function threePerTenSeconds(options: FixedWindowOptions = {}) {
  return new Reference(fixedWindow, { limit: 3, window: 10e6, ...options });
}

describe('fixed-window, 3 per 10 s', () => {
  it('starts the windows of each client with its own first request', async () => {
    await expectTimeline(
      threePerTenSeconds().since(NOON),
      `
         at  cost | allowed  remaining  retry  reset
       2000     1 | yes              2      0  10000
       6000     2 | yes              0      0   6000
      11999     1 | no               0      1      1
      12000     2 | yes              1      0  10000
      13000     2 | no               1   9000   9000
      13000     1 | yes              0      0   9000
      35000     1 | yes              2      0  10000
      `,
    );
  });

  it('starts every window at the same instant for all, if aligned to the clock', async () => {
    await expectTimeline(
      threePerTenSeconds({ align: 'clock' }).since(NOON),
      `
         at  cost | allowed  remaining  retry  reset
       2000     1 | yes              2      0   8000
       9999     3 | no               2      1      1
      10000     3 | yes              0      0  10000
      19999     1 | no               0      1      1
      20000     0 | yes              3      0      0
      `,
    );
  });

  it('allows up to twice the limit around the edge of two windows', async () => {
    await expectTimeline(
      threePerTenSeconds({ align: 'clock' }).since(NOON),
      `
         at  cost | allowed  remaining  retry  reset
       9999     3 | yes              0      0      1
      10000     3 | yes              0      0  10000
      `,
    );
  });

  it('reports that a cost can never fit, and starts no window for it', async () => {
    await expectTimeline(
      threePerTenSeconds().since(NOON),
      `
         at  cost | allowed  remaining  retry  reset
          0     4 | no               3  never      0
       5000     1 | yes              2      0  10000
       5000     4 | no               2  never  10000
      `,
    );
  });
});
