import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { algorithms, type AlgorithmName } from '../../lib/algorithms/registry.js';
import { MemoryStore } from '../../lib/index.js';
import type { Result } from '../../lib/store.js';
import { foretellable } from './foretellable.js';
import { FORWARD } from './forward-timeline.js';
import { Play } from './play.js';
import type { RuleSketch } from './rule-sketch.js';
import { isShared } from './sayable-rule.js';
import { timelines, type Timeline } from './random-timeline.js';
import { Tally } from './tally.js';

const names = Object.keys(algorithms) as AlgorithmName[];

describe('when to come again: after refunds, debts, blocks and steps of the clock', () => {
  it.each(names)(
    '%s allows a request exactly when reported, after refunds, debts, blocks and steps of the clock',
    async (name) => {
      const tally = new Tally();
      const drawn = timelines([name], { minLength: 1, maxLength: 1 });
      const property = fc.asyncProperty(drawn, (timeline) => expectHonesty(foretellable(timeline), tally));
      await fc.assert(property, { ...FORWARD, numRuns: 80 });
      expect(Math.min(tally.of('denied'), tally.of('blocked'))).toBeGreaterThan(100);
    },
  );
});

/**
 * Plays a timeline in memory, and repeats a denied request at the instant that its denial reported.
 *
 * @throws Error that shows the timeline up to the first wrong wait
 */
async function expectHonesty(timeline: Timeline, tally: Tally): Promise<void> {
  const play = new Play(timeline, '');
  const store = new MemoryStore({ clock: () => play.now / 1000 });
  const story = play.rules.told;
  for (const step of timeline.steps) {
    story.push(`${play.pass(step)} us later: ${JSON.stringify(step)}`);
    const ask = play.prepare(step);
    const unblocked = await play.unblocked(store);
    const answers = await ask(store);
    play.note(answers);
    tally.note(step, answers, unblocked);
    story.push(...answers.map((answer) => `  ${JSON.stringify(answer)}`));

    if (step.does !== 'consume' || step.maxWait === 'endless') continue;
    const { allowed, retryAfter } = answers[0] as Result;
    if (allowed || retryAfter === null) continue;
    const early = await play.foretell(retryAfter - 1, step, store);
    const onTime = await play.foretell(retryAfter, step, store);
    // The decision of the rule after a block is checked elsewhere, see ADR 7.
    const isBlocked = retryAfter !== unblocked[0]!.retryAfter;
    const isLetIn = isBlocked ? onTime.allowed === onTime.unblocked.allowed : onTime.allowed;
    // A holder that waits may leave before its turn, and a tenant may lose its place: the wait is then the longest.
    const [rule] = timeline.rules as [RuleSketch];
    const isExact = !algorithms[rule.algorithm].leases && !isShared(rule);
    if ((isExact && early.allowed) || !isLetIn) throw new Error(['A lie:', ...story].join('\n'));
  }
  await store.close();
}
