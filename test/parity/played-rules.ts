import type { Counter, Hit } from '../../lib/index.js';
import type { Timeline } from './random-timeline.js';
import type { RuleSketch } from './rule-sketch.js';
import { changed, compileSketch, lengthOf, toRule } from './sketched-rule.js';

/** An instant near which nothing is odd, in microseconds. */
const ORDINARY = 1_700_000_040_000_000;

/** The rules of a timeline as they are now, and their counters. Instants are microseconds. */
export class PlayedRules {
  private readonly sketches: RuleSketch[];
  private compiled;
  private leases = 0;

  constructor(
    private readonly timeline: Timeline,
    private readonly prefix: string,
  ) {
    this.sketches = [...timeline.rules];
    this.compiled = this.sketches.map(compileSketch);
  }

  /** When the timeline starts: near an odd day if there is a calendar. */
  get start(): number {
    return this.sketches.find(({ algorithm }) => algorithm === 'fixed-window')?.calendar?.near ?? ORDINARY;
  }

  /** Every key that may have been written. */
  get keys(): string[] {
    return this.sketches.flatMap((_, index) => [this.key(index), blockOf(this.key(index))]);
  }

  /** The rules, a line each. */
  get told(): string[] {
    return this.sketches.map((sketch) => `  ${JSON.stringify(toRule(sketch))}`);
  }

  /** So much of the first rule's window. */
  share(twelfths: number): number {
    return Math.floor((lengthOf(this.sketches[0]!) * twelfths) / 12);
  }

  change(index: number, to: RuleSketch): void {
    this.sketches[index] = changed(this.sketches[index]!, to);
    this.compiled = this.sketches.map(compileSketch);
  }

  counters(now: number): Counter[] {
    const callersTime = (now + this.share(this.timeline.skew)) / 1000;
    return this.compiled.map(({ algorithm, parameters, parametersAt, block }, index) => {
      const key = this.key(index);
      const counter = { key, algorithm, parameters: parametersAt?.(callersTime) ?? parameters };
      return block === undefined ? counter : { ...counter, block: { key: blockOf(key), duration: block } };
    });
  }

  /** The counters, each with a block whether its rule has one now or not. */
  blockable(now: number): Counter[] {
    return this.counters(now).map((counter) => ({
      ...counter,
      block: { key: blockOf(counter.key), duration: 0 },
    }));
  }

  /** A request, by which each rule is hit once. */
  hits(now: number, cost: number | undefined, atMost = Infinity): Hit[] {
    return this.counters(now).map((counter, index) => {
      const { algorithm, shadow, cost: own } = this.compiled[index]!;
      const hit = { ...counter, shadow, cost: Math.min(cost ?? own, atMost) };
      return algorithm.leases ? { ...hit, lease: `lease-${++this.leases}` } : hit;
    });
  }

  private key(index: number): string {
    return `${this.prefix}{ann}:${index}`;
  }
}

function blockOf(key: string): string {
  return `${key}:block`;
}
