import type { Algorithm, Parameters } from '../../contracts/algorithm.js';
import { CallKeys } from './call-keys.js';
import type { ScriptMain } from './script.js';
import type { Amendment, Ask, Counter, Hit } from '../../contracts/store.js';

const KINDS = { refund: 0, 'refund-last': 1, renew: 2 } as const;
const REFUND_OF_TAKE = 3;

/** What the head of a request states about it. */
const ASKS = { charge: 0, dryRun: 1, takeAhead: 2 } as const;

/** For how long the receipt of permits taken ahead is kept at least, in microseconds. */
export const RECEIPT_KEPT_FOR = 60e6;

/** Where the receipt of a take is: the same slot as the counter. */
function receiptKey(key: string, take: string): string {
  return `${key}:take:${take}`;
}

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
  readonly keys = new CallKeys();
  /** Whether a server may have executed it, or may do so still. */
  isSent = false;
  private readonly rules: CallRule[] = [];
  private readonly arguments: Argument[] = [];
  /** Where the last run of requests begins that another one may be like. */
  private run = -1;
  /** The cost of its only hit, as long as there is no other, and nothing else is asked. */
  private lone: number | undefined;

  private requests = 0;

  /** When it was written, by `performance.now()`, and how many replies had come in time by then. */
  writtenAt = 0;
  repliesBefore = -1;
  /** The server's reply, however late; absent unless the call was written. */
  reply: Promise<unknown> | undefined;

  /**
   * @param now microseconds since the epoch; `''` for the server's time
   * @param script what to run; absent: the script that decides its requests
   */
  constructor(
    readonly now: number | '',
    private readonly script?: ScriptMain,
  ) {}

  /** The algorithms in use, in one order, so that each set of them is one script. */
  get algorithms(): readonly Algorithm[] {
    if (this.rules.length === 1) return [this.rules[0]!.algorithm];
    const algorithms = [...new Set(this.rules.map(({ algorithm }) => algorithm))];
    return algorithms.length < 2 ? algorithms : algorithms.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Whether it is one hit on a plain rule, which lone.lua decides: no block, no lease, nothing but to be charged. */
  private get isLone(): boolean {
    const [rule] = this.rules;
    return this.lone !== undefined && this.keys.meant === 1 && rule!.block < 0 && !rule!.algorithm.leases;
  }

  /** Whether it decides several requests, each of which could be decided without the others. */
  get isShared(): boolean {
    return this.requests > 1;
  }

  /** The script to run. */
  get main(): ScriptMain {
    return this.script ?? (this.isLone ? 'lone' : 'decide');
  }

  get argv(): readonly (string | number)[] {
    if (this.isLone) {
      const [{ algorithm, parameters }] = this.rules as [CallRule];
      return [this.now, this.lone!, ...algorithm.parameters.map((name) => parameters[name]!)];
    }
    const { algorithms } = this;
    const { places } = this.keys;
    const rules = this.rules.map(
      ({ algorithm, parameters, block, observe }) =>
        `[${algorithms.indexOf(algorithm) + 1},${block},${observe},${spell(algorithm, parameters)}]`,
    );
    const argv = [this.now, `[${rules.join(',')}]`, JSON.stringify(this.arguments)];
    return places ? [...argv, JSON.stringify(places)] : argv;
  }

  add(...args: readonly Argument[]): void {
    this.arguments.push(...args);
  }

  addRequest(hits: readonly Hit[], { dryRun = false, patience = 0, takesAhead }: Ask): void {
    this.requests += 1;
    const isPlain = !dryRun && patience === 0 && !takesAhead;
    this.lone = isPlain && hits.length === 1 && this.keys.meant === 0 ? hits[0]!.cost : undefined;
    for (const { key, block } of hits) {
      this.keys.add(key);
      if (block) this.keys.add(block.key);
      if (takesAhead) this.keys.add(receiptKey(key, takesAhead.name));
    }
    if (isPlain && this.isAsBefore(hits)) {
      (this.arguments[this.run] as number) += 1;
      return;
    }
    this.run = isPlain ? this.arguments.length : -1;
    if (isPlain) this.addRun(hits, [hits.length]);
    else if (takesAhead) {
      this.addRun(hits, [-hits.length, ASKS.takeAhead, Math.max(RECEIPT_KEPT_FOR, takesAhead.ttl)]);
    } else {
      const ask = dryRun ? ASKS.dryRun : ASKS.charge;
      this.addRun(hits, [-hits.length, ask, patience === Infinity ? -1 : patience]);
    }
  }

  /** Calls on keys of their own, beside the first, that do what this one does: the same script, with each rule. */
  get probes(): readonly Call[] {
    const key = `${this.keys.all[0]!}:probe`;
    if (this.script && this.script !== 'amend') {
      const same = new Call(this.now, this.script);
      same.keys.add(key);
      same.add(...this.arguments);
      return [same];
    }
    const decides = new Call(this.now);
    const amends = new Call(this.now, 'amend');
    for (const [index, { algorithm, parameters, block, observe }] of this.rules.entries()) {
      const hit: Hit = {
        key: `${key}${index}`,
        algorithm,
        parameters,
        cost: 1,
        block: block < 0 ? undefined : { key: `${key}${index}:block`, duration: block },
        observe: observe === 1,
        ...(algorithm.leases && { lease: 'probe' }),
      };
      decides.addRequest([hit], {});
      if (!this.isLone) decides.addRequest([hit], {});
      amends.addAmendment({ ...hit, kind: 'refund', receipt: hit.lease ?? 0 });
    }
    // Twice, since a counter that is there takes other commands than one that is not.
    return this.script ? [decides, amends] : [decides, decides];
  }

  addAmendment(amendment: Amendment): void {
    const { kind, key, cost, receipt } = amendment;
    this.keys.add(key);
    const isOfTake = isRefundOfTake(amendment);
    if (isOfTake) this.keys.add(receiptKey(key, String(receipt)));
    this.arguments.push([
      isOfTake ? REFUND_OF_TAKE : KINDS[kind],
      this.ruleOf(amendment),
      cost,
      isOfTake ? 0 : receipt,
    ]);
  }

  /** Whether a request differs from the last one in its keys only. */
  private isAsBefore(hits: readonly Hit[]): boolean {
    const { run, arguments: told } = this;
    if (run < 0 || told[run + 1] !== hits.length) return false;
    for (let index = 0; index < hits.length; index += 1) {
      const hit = hits[index]!;
      const at = run + 2 + 2 * index;
      if (hit.algorithm.leases || told[at] !== this.ruleOf(hit) || told[at + 1] !== hit.cost) return false;
    }
    return true;
  }

  private addRun(hits: readonly Hit[], head: readonly number[]): void {
    this.arguments.push(1, ...head);
    for (const hit of hits) {
      this.arguments.push(this.ruleOf(hit), hit.cost);
      if (hit.algorithm.leases) this.arguments.push(hit.lease ?? '');
    }
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

/** Whether an amendment refunds permits that were taken ahead, by the name of the take. */
export function isRefundOfTake({ algorithm, receipt }: Amendment): boolean {
  return typeof receipt === 'string' && !algorithm.leases;
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
