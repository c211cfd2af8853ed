import { isDeepStrictEqual } from 'node:util';
import type { Store } from '../../lib/store.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import type { VirtualTime } from '../support/virtual-store.js';
import { Play } from './play.js';
import type { Timeline } from './random-timeline.js';
import type { Tally } from './tally.js';

/** Two stores that are expected to decide equally. */
export interface Pair {
  time: VirtualTime;
  lua: Store;
  reference: Store;
}

/**
 * Plays a timeline on both stores, on separate keys.
 *
 * @throws Error that shows the timeline up to the first step in which they differ
 */
export async function replay(
  timeline: Timeline,
  { time, lua, reference }: Pair,
  tally: Tally,
): Promise<void> {
  const play = new Play(timeline, uniquePrefix());
  const story = ['rules:', ...play.rules.told];
  for (const step of timeline.steps) {
    story.push(`${play.pass(step)} us later: ${JSON.stringify(step)}`);
    time.now = play.now / 1000;

    const act = play.prepare(step);
    const unblocked = await play.unblocked(reference);
    const expected = await act(reference);
    const said = await act(lua);
    story.push(...expected.map((answer) => `  ${JSON.stringify(answer)}`));
    if (!isDeepStrictEqual(said, expected)) {
      throw new Error(
        ['Lua and its reference differ.', ...story, 'But Lua said:', JSON.stringify(said)].join('\n'),
      );
    }
    play.note(expected);
    tally.note(step, expected, unblocked);
    if (step.does === 'change') story.push(...play.rules.told);
  }
  await Promise.all([lua, reference].map((store) => store.reset(play.rules.blockable(play.now)))); // Deletes the keys.
}
