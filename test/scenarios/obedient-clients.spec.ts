import { describe, expect, it } from '@jest/globals';
import { MemoryStore, type Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { rateLimitHeaders } from '../../lib/http/headers.js';
import { DEFINITIONS } from '../support/examples.js';
import { VirtualTime } from '../support/virtual-store.js';

/** How long each client sends requests, in windows. */
const WINDOWS = 20;
const NAMES = DEFINITIONS.filter(({ leases }) => !leases).map(({ name }) => name);

interface Quota {
  readonly limit: number;
  readonly window: number;
  /** Number of clients, 3 by default. */
  readonly clients?: number;
}

/** Limits and windows in seconds: at least 10 permits, and a permit a second or a burst worth 2 s. */
const QUOTAS: readonly Quota[] = [
  { limit: 100, window: 60, clients: 20 },
  { limit: 1000, window: 10 },
  { limit: 100, window: 30 },
  { limit: 10, window: 10 },
  { limit: 60, window: 60 },
  { limit: 1000, window: 3600 },
];

/** The least part of its limit that an obedient client gets, as docs/configuration.md states. */
function leastOf(algorithm: string, window: number): number {
  if (algorithm !== 'sliding-window-cells') return 0.89;
  return window < 30 ? 0.84 : 0.87;
}

interface Client {
  at: number;
  readonly name: string;
}

/** Milliseconds until the next request of a client that spreads `r` over `t`, or that sends `r` requests at once. */
const PACES = {
  'spreads r over t': (r: number, t: number) => (r === 0 ? t : t / r) * 1000,
  'sends r and then waits t': (r: number, t: number) => (r === 0 ? t * 1000 : 0),
};

/** Plays independent clients that read `r` and `t`. Returns the parts of the limit they got, and of 429s. */
async function play(
  rule: Rule,
  { limit, window, clients: count = 3 }: Quota,
  pace: (r: number, t: number) => number,
) {
  const time = new VirtualTime();
  const start = time.now;
  const store = new MemoryStore({ clock: time.clock });
  const limiter = new RateLimiter({ store });
  const clients: Client[] = Array.from({ length: count }, (_, nth) => ({
    at: start + Math.floor((nth * window * 1000) / count) + 137 * nth,
    name: `client ${nth}`,
  }));
  let [allowed, denied, elapsed] = [0, 0, 0];
  for (const client of clients) {
    const from = client.at;
    while (client.at < from + WINDOWS * window * 1000) {
      time.now = client.at;
      const decision = await limiter.consume(rule, client.name);
      if (decision.allowed) allowed += 1;
      else denied += 1;
      const headers = new Map(rateLimitHeaders(decision, ['draft-10']));
      const [, r, t] = /;r=(\d+);t=(\d+)/.exec(headers.get('RateLimit')!)!;
      client.at += Math.ceil(pace(Number(r), Number(t)));
    }
    elapsed += client.at - from;
  }
  await limiter.close();
  await store.close();
  return { share: allowed / ((elapsed * limit) / (window * 1000)), denied: denied / (allowed + denied) };
}

describe('a client that follows the header RateLimit', () => {
  describe.each(Object.entries(PACES))('and %s', (_title, pace) => {
    it.each(NAMES)('gets nearly its whole limit and hardly any 429, with %s', async (algorithm) => {
      for (const quota of QUOTAS) {
        const { limit, window } = quota;
        const queue = algorithm === 'leaky-bucket' ? { delayAfter: limit } : {};
        const rule = { algorithm, limit, window: `${window}s`, ...queue } as Rule;
        const { share, denied } = await play(rule, quota, pace);
        const least = leastOf(algorithm, window);
        expect({ limit, window, share, denied, isEnough: share >= least && denied < 0.01 }).toMatchObject({
          isEnough: true,
        });
      }
    });
  });
});
