import type { Algorithm, Parameters } from '../../contracts/algorithm.js';
import type { Amendment, Ask, Counter, Hit } from '../../contracts/store.js';

const KINDS = { refund: 0, 'refund-last': 1, renew: 2 } as const;

type Argument = string | number | readonly Argument[];

/** A rule as a call tells it, once however many counters go by it. */
interface CallRule {
  readonly algorithm: Algorithm;
  readonly parameters: Parameters;
  readonly block: number;
  readonly observe: number;
}

/** KEYS and ARGV of one call, as protocol.lua reads them and the script's own part after it. */
export class Call {
  readonly keys: string[] = [];
  private readonly rules: CallRule[] = [];
  private readonly arguments: Argument[] = [];
  /** The cost of its only hit, as long as there is no other, and nothing else is asked. */
  private lone: number | undefined;

  /** @param now microseconds since the epoch; `''` for the server's time */
  constructor(readonly now: number | '') {}

  /** The algorithms in use, in one order, so that each set of them is one script. */
  get algorithms(): readonly Algorithm[] {
    if (this.rules.length === 1) return [this.rules[0]!.algorithm];
    const algorithms = [...new Set(this.rules.map(({ algorithm }) => algorithm))];
    return algorithms.length < 2 ? algorithms : algorithms.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Whether it is one hit on a plain rule, which lone.lua decides: no block, no lease, nothing but to be charged. */
  private get isLone(): boolean {
    const [rule] = this.rules;
    return this.lone !== undefined && this.keys.length === 1 && rule!.block < 0 && !rule!.algorithm.leases;
  }

  /** The script that decides its requests. */
  get main(): 'lone' | 'decide' {
    return this.isLone ? 'lone' : 'decide';
  }

  get argv(): readonly (string | number)[] {
    if (this.isLone) {
      const [{ algorithm, parameters }] = this.rules as [CallRule];
      return [this.now, this.lone!, ...algorithm.parameters.map((name) => parameters[name]!)];
    }
    const { algorithms } = this;
    const rules = this.rules.map(
      ({ algorithm, parameters, block, observe }) =>
        `[${algorithms.indexOf(algorithm) + 1},${block},${observe},${spell(algorithm, parameters)}]`,
    );
    return [this.now, `[${rules.join(',')}]`, JSON.stringify(this.arguments)];
  }

  /** How many hits or amendments it carries. */
  get size(): number {
    return this.keys.length;
  }

  add(...args: readonly Argument[]): void {
    this.arguments.push(...args);
  }

  addRequest(hits: readonly Hit[], { dryRun = false, patience = 0 }: Ask): void {
    const request = this.arguments;
    const isPlain = hits.length === 1 && !dryRun && patience === 0;
    this.lone = isPlain && request.length === 0 ? hits[0]!.cost : undefined;
    if (dryRun || patience !== 0)
      request.push(-hits.length, dryRun ? 1 : 0, patience === Infinity ? -1 : patience);
    else request.push(hits.length);
    for (const hit of hits) {
      this.keys.push(hit.key);
      if (hit.block) this.keys.push(hit.block.key);
      request.push(this.ruleOf(hit), hit.cost);
      if (hit.algorithm.leases) request.push(hit.lease ?? '');
    }
  }

  addAmendment(amendment: Amendment): void {
    const { kind, key, cost, receipt } = amendment;
    this.keys.push(key);
    this.arguments.push([KINDS[kind], this.ruleOf(amendment), cost, receipt]);
  }

  /** The number of a counter's rule, from 1. */
  private ruleOf({ algorithm, parameters, block, observe }: Counter & Pick<Partial<Hit>, 'observe'>): number {
    const duration = block ? block.duration : -1;
    const observed = observe ? 1 : 0;
    const { rules } = this;
    for (let index = 0; index < rules.length; index += 1) {
      const rule = rules[index]!;
      const isSame = rule.parameters === parameters && rule.algorithm === algorithm;
      if (isSame && rule.block === duration && rule.observe === observed) return index + 1;
    }
    return this.rules.push({ algorithm, parameters, block: duration, observe: observed });
  }
}

const spelled = new WeakMap<Parameters, string>();

/** The parameters as JSON, in the order in which the script takes them. */
function spell(algorithm: Algorithm, parameters: Parameters): string {
  let text = spelled.get(parameters);
  if (text === undefined) {
    text = JSON.stringify(algorithm.parameters.map((name) => parameters[name]!));
    spelled.set(parameters, text);
  }
  return text;
}
