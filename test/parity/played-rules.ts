import type { Counter, Hit } from '../../lib/store.js';
import { subjectNumber } from '../../lib/rules/keys.js';
import type { Timeline } from './random-timeline.js';
import type { RuleSketch } from './rule-sketch.js';
import { changed, compileSketch, lengthOf, toRule } from './sketched-rule.js';

const TENANTS = ['tenant 0', 'tenant 1', 'tenant 2'];

/** An instant, in microseconds, without irregular days nearby. */
const ORDINARY = 1_700_000_040_000_000;

/** The current rules of a timeline, and their counters. Instants are in microseconds. */
export class PlayedRules {
  private readonly sketches: RuleSketch[];
  private compiled;
  private leases = 0;
  private tenant = 0;
  /** The counters that may have been written. */
  private readonly written = new Map<string, Counter>();

  constructor(
    private readonly timeline: Timeline,
    private readonly prefix: string,
  ) {
    this.sketches = [...timeline.rules];
    this.compiled = this.sketches.map(compileSketch);
  }

  /** The start of the timeline: near an irregular day if there is a calendar. */
  get start(): number {
    return this.sketches.find(({ algorithm }) => algorithm === 'fixed-window')?.calendar?.near ?? ORDINARY;
  }

  /** Every key that may have been written. */
  get keys(): string[] {
    return [...this.written].flatMap(([key, { block }]) => [key, block!.key]);
  }

  /** Describes the rules, one per line. */
  get told(): string[] {
    return this.sketches.map((sketch) => `  ${JSON.stringify(toRule(sketch))}`);
  }

  /** Returns a part of the first rule's window. */
  share(twelfths: number): number {
    return Math.floor((lengthOf(this.sketches[0]!) * twelfths) / 12);
  }

  /** The next request is that of another tenant, for the rules whose subjects share a limit. */
  nextTenant(): void {
    this.tenant = (this.tenant + 1) % TENANTS.length;
  }

  change(index: number, to: RuleSketch): void {
    this.sketches[index] = changed(this.sketches[index]!, to);
    this.compiled = this.sketches.map(compileSketch);
  }

  counters(now: number): Counter[] {
    const callersTime = (now + this.share(this.timeline.skew)) / 1000;
    const tenant = TENANTS[this.tenant]!;
    return this.compiled.map(({ algorithm, parameters, parametersAt, bySubject, block }, index) => {
      const key = this.key(index);
      const blockKey = this.blockKey(index);
      const own = bySubject ? { ...parameters, ...bySubject(tenant, subjectNumber(tenant)) } : parameters;
      const counter = { key, algorithm, parameters: parametersAt?.(callersTime) ?? own };
      this.written.set(key, { ...counter, block: { key: blockKey, duration: 0 } });
      return block === undefined ? counter : { ...counter, block: { key: blockKey, duration: block } };
    });
  }

  /** Returns every counter that the rules had, each with a block, whether or not its rule has one. */
  blockable(now: number): Counter[] {
    this.counters(now);
    return [...this.written.values()];
  }

  /** Returns a request: one hit per rule. */
  hits(now: number, cost: number | undefined, atMost = Infinity): Hit[] {
    return this.counters(now).map((counter, index) => {
      const { algorithm, shadow, cost: own } = this.compiled[index]!;
      const hit = { ...counter, shadow, cost: Math.min(cost ?? own, atMost) };
      return algorithm.leases ? { ...hit, lease: `lease-${++this.leases}` } : hit;
    });
  }

  private key(index: number): string {
    return `${this.prefix}{ann}:${index}:${this.compiled[index]!.stateName}`;
  }

  private blockKey(index: number): string {
    return `${this.prefix}{ann}:${index}:block`;
  }
}
