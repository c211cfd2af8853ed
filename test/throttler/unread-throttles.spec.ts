import { expect, it } from '@jest/globals';
import { runScript } from '../docs/run-script.js';

const FIX =
  'no guard of @nestjs/throttler reads it; write @RateLimit, or run npx nestjs-redis-rate-limit migrate';

it('limits of throttler that a migration has left stop the application, unless a guard of throttler reads them', async () => {
  expect(JSON.parse(await runScript('test/throttler/unread-throttles.mjs'))).toEqual({
    'a throttled handler': [`@Throttle on Login.get: ${FIX}`],
    'a class that skips': [`@Throttle on Health: ${FIX}`],
    'a handler with both': [`@Throttle on Both.get: ${FIX}`],
    'a guard for all routes': 200,
    'a guard that extends it': 200,
    'a guard of a controller': 200,
    'a handler without a limit here': 200,
  });
});
