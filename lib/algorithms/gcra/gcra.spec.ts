import { describe, it } from '@jest/globals';
import { expectTimeline } from '../../../test/support/timeline.js';
import { Reference } from '../../../test/support/reference.js';
import { gcra } from './gcra.js';

const NOON = Date.UTC(2024, 0, 1, 12);

describe('gcra, 1 per second, burst 4', () => {
  const onePerSecond = () => new Reference(gcra, { limit: 1, window: 1e6, burst: 4 });

  it('allows a burst after a pause, and then one request every second', async () => {
    await expectTimeline(
      onePerSecond().since(NOON),
      `
         at  cost | allowed  remaining  retry  reset
          0     3 | yes              1      0   3000
          0     2 | no               1   1000   3000
       1500     2 | yes              0      0   3500
       1999     1 | no               0      1   3001
       2000     1 | yes              0      0   4000
       2000     5 | no               0  never   4000
       6000     4 | yes              0      0   4000
      `,
    );
  });

  it('allows no more than its burst after a pause of any length', async () => {
    await expectTimeline(
      onePerSecond().since(NOON),
      `
             at  cost | allowed  remaining  retry  reset
              0     4 | yes              0      0   4000
      864000000     5 | no               4  never      0
      864000000     4 | yes              0      0   4000
      `,
    );
  });
});

describe('gcra without the option burst', () => {
  it('allows the full limit at once, and then spreads it over the window', async () => {
    await expectTimeline(
      new Reference(gcra, { limit: 3, window: 7e6 }).since(NOON),
      `
             at  cost | allowed  remaining  retry  reset
              0     3 | yes              0      0   7000
       2333.333     1 | no               0      1   4667
       2333.334     1 | yes              0      0   7000
       4666.666     1 | no               0      1   4667
       4666.667     1 | yes              0      0   7000
           7000     1 | yes              0      0   7000
      `,
    );
  });
});
