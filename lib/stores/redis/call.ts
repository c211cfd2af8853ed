import type { Algorithm } from '../../contracts/algorithm.js';
import { toMicroseconds, type Clock } from '../../contracts/clock.js';
import type { Amendment, Counter, Hit } from '../../contracts/store.js';

const KINDS = { refund: 0, 'refund-last': 1, renew: 2 } as const;

/** KEYS and ARGV of one call, as protocol.lua reads them and the script's own part after it. */
export class Call {
  /** In one order, so that each set of algorithms is one script. */
  readonly algorithms: readonly Algorithm[];
  readonly keys: string[] = [];
  readonly args: (string | number)[] = [];
  private rule = 0;

  constructor(counters: readonly (Counter & Partial<Pick<Hit, 'observe'>>)[], clock: Clock | undefined) {
    const algorithms = [...new Set(counters.map(({ algorithm }) => algorithm))];
    this.algorithms = algorithms.sort((a, b) => (a.name < b.name ? -1 : 1));
    this.args.push(clock ? toMicroseconds(clock()) : '', counters.length);
    for (const { algorithm, parameters, block, observe } of counters) {
      const values = algorithm.parameters.map((name) => parameters[name]!);
      this.args.push(algorithms.indexOf(algorithm) + 1, block ? block.duration : -1, observe ? 1 : 0);
      this.args.push(values.length, ...values);
    }
  }

  addHit({ key, block, cost, algorithm, lease = '' }: Hit): void {
    this.keys.push(key);
    if (block) this.keys.push(block.key);
    this.args.push(++this.rule, cost);
    if (algorithm.leases) this.args.push(lease);
  }

  addAmendment({ kind, key, cost, receipt }: Amendment): void {
    this.keys.push(key);
    this.args.push(KINDS[kind], ++this.rule, cost, receipt);
  }
}
