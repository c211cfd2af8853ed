import { isDeepStrictEqual } from 'node:util';
import type { Store } from '../../lib/index.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import type { VirtualTime } from '../support/virtual-store.js';
import { Play } from './play.js';
import type { Timeline } from './random-timeline.js';

/** Two stores that should not be told apart. */
export interface Pair {
  time: VirtualTime;
  lua: Store;
  twin: Store;
}

/**
 * Plays a timeline on both stores, on keys of its own.
 *
 * @returns how many steps it took
 * @throws Error that shows the timeline up to the first step in which they differ
 */
export async function replay(timeline: Timeline, { time, lua, twin }: Pair): Promise<number> {
  const play = new Play(timeline.rules, uniquePrefix());
  const story = play.rules();
  for (const step of timeline.steps) {
    const microseconds = play.microsecondsUntil(step);
    time.advance(microseconds / 1000);
    story.push(`${microseconds} us later: ${JSON.stringify(step)}`);

    const act = play.prepare(step);
    const expected = await act(twin);
    const said = await act(lua);
    story.push(...expected.map((answer) => `  ${JSON.stringify(answer)}`));
    if (!isDeepStrictEqual(said, expected)) {
      throw new Error(
        ['Lua and its twin differ.', ...story, 'But Lua said:', JSON.stringify(said)].join('\n'),
      );
    }
    play.note(expected);
    if (step.does === 'change') story.push(...play.rules());
  }
  await Promise.all([lua, twin].map((store) => store.reset(play.everything))); // Leaves nothing behind.
  return timeline.steps.length;
}
