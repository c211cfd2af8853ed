import type { ServerFault } from './fault.js';
import type { Site } from './site.js';

const HOUR_MS = 3_600_000;
const STEPS = [HOUR_MS, -HOUR_MS, 1000, -1000, 2 * HOUR_MS];

/** The server's clock can be stepped only by root, so the application uses the option `clock` instead. */
export const clockFault: ServerFault = {
  name: 'the clock steps by up to 3 h, back and forth',
  deciding: 'redis',
  breaker: 'any',
  hasOwnClock: true,
  clock: { ahead: 2 * HOUR_MS, steps: 3 },
  make: async () => undefined,
  goOn: step,
  heal: ({ application }) => application.step(0),
};

async function step({ application }: Site): Promise<void> {
  for (const milliseconds of STEPS) {
    await application.step(milliseconds);
    await application.more(100);
  }
}
