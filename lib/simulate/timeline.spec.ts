import { describe, expect, it } from '@jest/globals';
import { ALLOWED, DENIED, Timeline } from './tally.js';

describe('the timeline of a simulation', () => {
  it('has a bar for each second', () => {
    const timeline = new Timeline();
    for (const second of [100, 100, 102]) timeline.add(second, ALLOWED);
    expect(timeline.bars().map(({ start, allowed }) => [start, allowed])).toEqual([
      [100, 2],
      [101, 0],
      [102, 1],
    ]);
  });

  it('keeps every request while its bars double', () => {
    const timeline = new Timeline();
    for (let second = 0; second < 100_000; second += 7) timeline.add(second, second % 2 ? DENIED : ALLOWED);
    const bars = timeline.bars();
    expect(bars.length).toBeLessThanOrEqual(120);
    expect(bars[0]!.seconds).toBe(1024);
    expect(bars.reduce((sum, { allowed }) => sum + allowed, 0)).toBe(7143);
    expect(bars.reduce((sum, { denied }) => sum + denied, 0)).toBe(7143);
  });
});
