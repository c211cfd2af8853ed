import type { RateLimiter } from '../../lib/limiter.js';
import { until } from './redis/until.mjs';

const PROBE = {
  name: 'probe',
  algorithm: 'gcra',
  limit: 1000,
  window: '1h',
  prefetch: { permits: 2, ttl: '1d' },
} as const;

let probes = 0;

/** Waits until a process prefetches permits, which it does while resets are reported to it. */
export function untilPrefetching(
  process: Pick<RateLimiter, 'consume'>,
  patienceMs?: number,
): Promise<unknown> {
  const prefetches = async (): Promise<boolean> => {
    const subject = `probe ${++probes}`;
    await process.consume(PROBE, subject);
    return (await process.consume(PROBE, subject)).source === 'cache';
  };
  return until(prefetches, 'the process to prefetch', patienceMs);
}
