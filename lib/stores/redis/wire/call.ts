import type { Algorithm, Parameters } from '../../../contracts/algorithm.js';
import type { ScriptName } from './script.js';
import {
  endsWithReset,
  type Adjustment,
  type Alerts,
  type Counter,
  type DecideOptions,
  type Hit,
} from '../../../contracts/store.js';

/** Runs calls. A wrapper around a caller adds one capability, and is a caller itself. */
export interface Caller {
  /** Returns the reply of the server. */
  run(call: Call): Promise<unknown>;
}

/** The kinds of an adjustment, as encoded in a call. */
const KINDS = { refund: 0, 'refund-last': 1, renew: 2, prefetchRefund: 3, charge: 4, clear: 5 } as const;

/** The modes of a request, as encoded in its head. */
const MODES = { charge: 0, dryRun: 1, prefetch: 2, peek: 3 } as const;

/** How long an adjustment is retried that may have been executed, in microseconds. */
export const REPEATED_FOR = 60e6;

/** How long the server stores the name of a charge, in microseconds. */
const CHARGE_KNOWN_FOR = 2 * REPEATED_FOR;

/** Returns the key of the instant of a counter's last reset, which exists as long as earlier charges could be refunded. */
export function resetKey(key: string): string {
  return `${key}:reset`;
}

/** Returns the key of the receipt of a prefetch, in the same slot as the counter. */
function receiptKey(key: string, take: string): string {
  return `${key}:take:${take}`;
}

/** Returns the key of the name of an idempotent charge. */
function chargeKey(key: string, name: string): string {
  return `${key}:charge:${name}`;
}

type Argument = string | number | readonly Argument[];

/** What denials of a rule do, as encoded in a call. */
const DENIALS = { deny: 0, shadow: 1, cached: 2 } as const;

/** A rule in a call, encoded once for all its counters. */
interface CallRule {
  readonly algorithm: Algorithm;
  readonly parameters: Parameters;
  readonly block: number;
  readonly denials: number;
  readonly alerts: Alerts | undefined;
}

/** Returns microseconds since the epoch. Without it, the server's time applies. */
export type CallClock = (() => number) | undefined;

export interface Request {
  readonly hits: readonly Hit[];
  readonly options: DecideOptions;
}

/**
 * The KEYS and ARGV of a call, as protocol.lua and the Lua function read them. Its lists are no literals, see
 * docs/adr/0111-no-literals-for-what-waits.md.
 */
export class Call {
  /** Its keys, without duplicates. */
  readonly keys = new Array<string>();
  /** Number of keys added, including duplicates. */
  keysAdded = 0;
  /** Address of the server of its keys; `''` if there is only one server. */
  server = '';
  /** Timeout in milliseconds; by default that of the store. */
  timeout: number | undefined = undefined;
  /** Whether a server may have executed it, or may still do so. */
  isSent = false;
  /** Whether it timed out while other replies arrived in time, or has its own timeout. */
  isSlow = false;
  requests: readonly Request[] = new Array<Request>();
  /** The rules of its requests and adjustments. */
  readonly rules = new Array<CallRule>();
  private readonly arguments = new Array<Argument>();
  /** Index of the last run of requests, which the next request may extend; negative if there is none. */
  private run = -1;
  /** Whether the process caches denials of the request that is being added. */
  private cachesDenials = false;
  /** The position in `keys` of each key, from 1; only if there are several keys. */
  private positionOf: Map<string, number> | undefined;
  /** The position of each key added; absent without duplicates. */
  private positions: number[] | undefined;
  /** Returns the milliseconds until its deadline; absent until the call is written. */
  left: (() => number) | undefined;
  /** The reply of the server, even if it is late; absent until the call is written. */
  reply: Promise<unknown> | undefined;

  /** @param now microseconds since the epoch; `undefined` for the server's time */
  constructor(
    readonly now: number | undefined,
    readonly main: ScriptName = 'decide',
  ) {}

  /** The algorithms in use, in a fixed order, so that each set of algorithms has one script. */
  get algorithms(): readonly Algorithm[] {
    if (this.rules.length === 1) return [this.rules[0]!.algorithm];
    const algorithms = [...new Set(this.rules.map(({ algorithm }) => algorithm))];
    return algorithms.length < 2 ? algorithms : algorithms.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Whether it contains several independent requests. */
  get isShared(): boolean {
    return this.requests.length > 1;
  }

  get argv(): readonly (string | number)[] {
    const { positions, keys, arguments: args } = this;
    const rules = this.rules.map(({ algorithm, parameters, block, denials, alerts }) => {
      const levels = alerts ? `,${JSON.stringify([alerts.keptFor, ...alerts.levels])}` : '';
      return `["${algorithm.name}",${block},${denials},${encode(algorithm, parameters)}${levels}]`;
    });
    const argv = [this.now ?? '', `[${rules.join(',')}]`];
    // decide.lua knows the arguments of one hit of cost 1.
    if (this.main === 'decide' && keys.length === 1 && args.join() === '1,1,1,1') return argv;
    argv.push(JSON.stringify(args));
    return positions ? [...argv, JSON.stringify(positions)] : argv;
  }

  addKey(key: string): void {
    const { keys } = this;
    this.keysAdded += 1;
    if (keys.length === 0) {
      keys.push(key);
      return;
    }
    this.positionOf ??= new Map([[keys[0]!, 1]]);
    const position = this.positionOf.get(key);
    if (position !== undefined) {
      this.positions ??= keys.map((_, index) => index + 1);
      this.positions.push(position);
      return;
    }
    this.positionOf.set(key, keys.push(key));
    this.positions?.push(keys.length);
  }

  add(...args: readonly Argument[]): void {
    this.arguments.push(...args);
  }

  addRequests(requests: readonly Request[]): void {
    this.requests = requests;
    for (const { hits, options } of requests) this.addRequest(hits, options);
  }

  private addRequest(hits: readonly Hit[], options: DecideOptions): void {
    const { dryRun = false, peek = false, maxWait = 0, prefetch, cachesDenials = false } = options;
    this.cachesDenials = cachesDenials;
    const isPlain = !dryRun && maxWait === 0 && !prefetch;
    for (const { key, block } of hits) {
      this.addKey(key);
      if (block) this.addKey(block.key);
      if (prefetch) this.addKey(receiptKey(key, prefetch.name));
    }
    if (isPlain && this.isLikePrevious(hits)) {
      (this.arguments[this.run] as number) += 1;
      return;
    }
    this.run = isPlain ? this.arguments.length : -1;
    if (isPlain) this.addRun(hits, [hits.length]);
    else if (prefetch) {
      this.addRun(hits, [-hits.length, MODES.prefetch, prefetch.keptFor], prefetch.permits);
    } else {
      const mode = !dryRun ? MODES.charge : peek ? MODES.peek : MODES.dryRun;
      this.addRun(hits, [-hits.length, mode, maxWait === Infinity ? -1 : maxWait]);
    }
  }

  addAdjustment(adjustment: Adjustment): void {
    const { kind, key, cost, receipt, chargedAt, once } = adjustment;
    this.addKey(key);
    if (endsWithReset(adjustment)) this.addKey(resetKey(key));
    const rule = this.ruleOf(adjustment);
    if (!once) {
      this.arguments.push([KINDS[kind], rule, cost, receipt, chargedAt]);
    } else if (kind === 'charge') {
      this.addKey(chargeKey(key, once.name));
      this.arguments.push([KINDS.charge, rule, cost, CHARGE_KNOWN_FOR]);
    } else {
      this.addKey(receiptKey(key, once.name));
      this.arguments.push([KINDS.prefetchRefund, rule, cost, 0]);
    }
  }

  /** Adds the reset of one subject of an algorithm that keeps all subjects of a rule in one state. */
  addClear(counter: Counter): void {
    this.addKey(counter.key);
    this.arguments.push([KINDS.clear, this.ruleOf(counter), 0, 0]);
  }

  /** Whether a request differs from the previous one only in its keys. */
  private isLikePrevious(hits: readonly Hit[]): boolean {
    const { run, arguments: args } = this;
    if (run < 0 || args[run + 1] !== hits.length) return false;
    for (let index = 0; index < hits.length; index += 1) {
      const hit = hits[index]!;
      const at = run + 2 + 2 * index;
      if (hit.algorithm.leases || args[at] !== this.ruleOf(hit) || args[at + 1] !== hit.cost) return false;
    }
    return true;
  }

  private addRun(hits: readonly Hit[], head: readonly number[], permits?: number): void {
    this.arguments.push(1, ...head);
    for (const hit of hits) {
      this.arguments.push(this.ruleOf(hit), permits ?? hit.cost);
      if (hit.algorithm.leases) this.arguments.push(hit.lease ?? '', hit.waits ? 1 : 0);
    }
  }

  /** Returns the number of a counter's rule in this call, from 1. */
  private ruleOf(counter: Counter & Pick<Partial<Hit>, 'shadow'>): number {
    const { algorithm, parameters, block, shadow, alerts } = counter;
    const duration = block ? block.duration : -1;
    const denials = shadow ? DENIALS.shadow : this.cachesDenials ? DENIALS.cached : DENIALS.deny;
    const { rules } = this;
    for (let index = 0; index < rules.length; index += 1) {
      const rule = rules[index]!;
      const isSame = rule.parameters === parameters && rule.algorithm === algorithm;
      const deniesAlike = rule.block === duration && rule.denials === denials;
      if (isSame && deniesAlike && rule.alerts?.levels === alerts?.levels) return index + 1;
    }
    return this.rules.push({ algorithm, parameters, block: duration, denials, alerts });
  }
}

const encoded = new WeakMap<Parameters, string>();

/** Encodes parameters as JSON, in the order in which the Lua functions take them. */
function encode(algorithm: Algorithm, parameters: Parameters): string {
  const known = encoded.get(parameters);
  if (known !== undefined) return known;
  const text = JSON.stringify(algorithm.parameters.map((name) => parameters[name]!));
  encoded.set(parameters, text);
  return text;
}
