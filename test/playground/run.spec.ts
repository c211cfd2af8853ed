import { describe, expect, it } from '@jest/globals';
import { ruleOf } from '../support/example-rule.js';
import { algorithms } from '../../lib/algorithms/registry.js';
import type { Permit } from '../../lib/limiter/permit.js';
import { MemoryStore } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { compileRule } from '../../lib/rules/compile-rule.js';
import type { AnyRule } from '../../lib/rules/rule.js';
import { compile } from '../../site/playground/rule.js';
import { run, subjectAt, type Replay } from '../../site/playground/run.js';
import { DEFAULTS } from '../../site/playground/settings.js';
import { fieldsOfState } from '../../site/playground/state.js';
import { START } from '../../site/playground/subject.js';
import { arrivalsOf, initialValues, retryOf, type Traffic } from '../../site/playground/traffic.js';
import { summaryOf } from '../../site/playground/words.js';

const poisson: Traffic = { kind: 'poisson', values: { rate: 8 }, drawn: [] };
const HELD = 2;
const replayOf = (traffic: Traffic, seconds = 30): Replay => ({
  ...{ arrivals: arrivalsOf(traffic, seconds, 3), retry: retryOf(traffic), seconds, held: HELD },
});

const examples = Object.values(algorithms).flatMap((algorithm) =>
  algorithm.examples.map((example) => ruleOf(algorithm, example, { limit: 10, windowMs: 10_000 })),
) as unknown as (AnyRule & { name: string })[];

const isBounded = ({ bound, exact }: { bound: string; exact?: false }) =>
  bound === 'any window' && exact !== false;

/** Decides the requests with a limiter in memory. */
async function decideInMemory(rule: AnyRule, arrivals: readonly number[]) {
  let now = START / 1000;
  const limiter = new RateLimiter({ store: new MemoryStore({ clock: () => now }) });
  const held: { until: number; permit: Permit }[] = [];
  const decided = [];
  for (const at of arrivals) {
    while (held[0] && held[0].until <= at) {
      now = START / 1000 + held[0].until;
      await held.shift()!.permit.release();
    }
    now = START / 1000 + at;
    if (rule.algorithm === 'concurrency') {
      const permit = await limiter.hold(rule, 'ann');
      if (permit.allowed) held.push({ until: at + HELD * 1000, permit });
      decided.push([permit.allowed, 0]);
    } else {
      const { allowed, delayMs } = await limiter.consume(rule, 'ann');
      decided.push([allowed, delayMs]);
    }
  }
  await limiter.close();
  return decided;
}

describe('a run of the playground', () => {
  it.each(examples.map((rule) => [rule.name, rule] as const))(
    'decides as a limiter in memory: %s',
    async (_name, rule) => {
      const replay = replayOf(poisson);
      const { decided } = run(compileRule(rule), replay);
      const shown = decided.map(({ at, goesAt, outcome }) => [
        outcome !== 'denied',
        Math.ceil((goesAt - at) / 1000),
      ]);
      expect(shown).toEqual(await decideInMemory(rule, replay.arrivals));
      expect(new Set(shown.map(([allowed]) => allowed)).size).toBeGreaterThan(
        'window' in rule && rule.window === 'day' ? 0 : 1,
      );
    },
  );

  it('shows first the double burst of the fixed window, and that the log denies it', () => {
    const { traffic, rules, seconds } = DEFAULTS;
    const found = rules.map((rule) =>
      summaryOf(compile(rule), run(compile(rule), replayOf(traffic, seconds))),
    );
    expect(found).toEqual([
      'allows 20 of 20 requests; at most 20 in 10 s, 2 times its limit.',
      'allows 10 of 20 requests, denies 10; at most 10 in 10 s.',
    ]);
  });

  it.each(examples.filter(({ algorithm }) => isBounded(algorithms[algorithm!])))(
    'never finds more than the limit in a window if that is the bound of the algorithm: $name',
    (rule) => {
      expect(run(compileRule(rule), replayOf(poisson)).worst!.count).toBeLessThanOrEqual(10);
    },
  );

  it('repeats denied requests: a client that waits for Retry-After gets as much with fewer attempts', () => {
    const kinds = ['retrying', 'patient'] as const;
    const rule = compileRule({ limit: 10, window: '10s' });
    const [atOnce, later] = kinds.map(
      (kind) => run(rule, replayOf({ kind, values: initialValues(kind), drawn: [] })).decided,
    );
    const allowed = [atOnce!, later!].map((all) => all.filter(({ outcome }) => outcome === 'allowed').length);
    expect([allowed, atOnce!.length, later!.length]).toEqual([[28, 28], 128, 44]);
    expect(atOnce!.map(({ at }) => at)).toEqual(atOnce!.map(({ at }) => at).toSorted((a, b) => a - b));
  });

  it.each(examples.map((rule) => [rule.name, rule] as const))(
    'has the state and the permits left at any instant: %s',
    (_name, rule) => {
      const compiled = compileRule(rule);
      const replay = replayOf(poisson);
      const found = run(compiled, replay);
      for (const { at, remaining } of found.levels.slice(0, -1)) {
        expect(subjectAt(compiled, found, replay, at).look(at).remaining).toBe(remaining);
      }
      const { state } = subjectAt(compiled, found, replay, 15e6).look(15e6);
      const fields = fieldsOfState(state, compiled);
      expect(fields.length).toBeGreaterThan(0);
      expect(fields.join(' ')).not.toMatch(/undefined|NaN|object/);
    },
  );
});
