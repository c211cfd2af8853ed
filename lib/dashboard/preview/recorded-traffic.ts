import type { Resolved } from '../../rules/compiled-rule.js';

/** A request of the record. */
export interface RecordedRequest {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Hash of the subject. */
  readonly subject: number;
  /** Hash of the route of the counter. */
  readonly route: number;
  readonly cost: number;
  /** Whether the rule denied it: its response is unknown. */
  readonly isDenied: boolean;
  /** When its permits were refunded or released, in milliseconds since the epoch; absent if they were not. */
  readonly refundedAt?: number | undefined;
  /** What the request determined for its rule; requests share equal values. */
  readonly resolved?: Resolved | undefined;
}

/** A request to record. */
export type AddedRequest = Omit<RecordedRequest, 'at' | 'refundedAt'>;

/** Requests of one rule: all requests of some subjects. */
export interface RecordedTraffic {
  /** The subjects whose hash ends with this number of zero bits: a share of 1/2^depth. */
  readonly depth: number;
  /** Since when all requests of these subjects are recorded, in milliseconds since the epoch; 0: none is missing. */
  readonly since: number;
  readonly requests: readonly RecordedRequest[];
}

/** What a column holds instead of a time until the refund. */
const CHARGED = 0;

const DENIED = 0xffffffff;

/** A request with the number of what it determined, see `ResolvedValues`. */
interface RequestRow extends Omit<RecordedRequest, 'resolved'> {
  readonly resolved: number;
}

/** Requests in typed arrays: 26 bytes each. */
export class RequestColumns {
  readonly times: Float64Array;
  readonly subjects: Uint32Array;
  readonly routes: Uint32Array;
  private readonly costs: Uint32Array;
  private readonly resolved: Uint16Array;
  /** Milliseconds from the request to its refund, plus 1. */
  private readonly refunds: Uint32Array;

  constructor(readonly size: number) {
    this.times = new Float64Array(size);
    this.subjects = new Uint32Array(size);
    this.routes = new Uint32Array(size);
    this.costs = new Uint32Array(size);
    this.resolved = new Uint16Array(size);
    this.refunds = new Uint32Array(size);
  }

  /** @param resolved the number of what the request determined */
  set(index: number, at: number, request: AddedRequest, resolved: number): void {
    const { subject, route, cost, isDenied } = request;
    this.times[index] = at;
    this.subjects[index] = subject;
    this.routes[index] = route;
    this.costs[index] = cost;
    this.resolved[index] = resolved;
    this.refunds[index] = isDenied ? DENIED : CHARGED;
  }

  /** Records a refund. */
  refund(index: number, at: number): void {
    this.refunds[index] = Math.max(0, at - this.times[index]!) + 1;
  }

  /** Whether a request is charged, and not refunded yet. */
  isCharged(index: number): boolean {
    return this.refunds[index] === CHARGED;
  }

  at(index: number): RequestRow {
    const [at, refund] = [this.times[index]!, this.refunds[index]!];
    const isDenied = refund === DENIED;
    return {
      at,
      subject: this.subjects[index]!,
      route: this.routes[index]!,
      cost: this.costs[index]!,
      resolved: this.resolved[index]!,
      isDenied,
      ...(!isDenied && refund !== CHARGED && { refundedAt: at + refund - 1 }),
    };
  }

  /** Returns columns of a size with some of the requests. */
  copy(indexes: readonly number[], size: number): RequestColumns {
    const copy = new RequestColumns(size);
    indexes.forEach((from, to) => {
      copy.times[to] = this.times[from]!;
      copy.subjects[to] = this.subjects[from]!;
      copy.routes[to] = this.routes[from]!;
      copy.costs[to] = this.costs[from]!;
      copy.resolved[to] = this.resolved[from]!;
      copy.refunds[to] = this.refunds[from]!;
    });
    return copy;
  }
}

/** Maximum number of different values. */
const MOST = 1024;

/** What requests determined for their rule: each different value once, with a number. The number 0 stands for none. */
export class ResolvedValues {
  private readonly numbers = new Map<string, number>();
  private values: (Resolved | undefined)[] = [undefined];

  /** Returns the number of a value; `undefined` if there is no room for another one. */
  numberOf(value: Resolved | undefined): number | undefined {
    if (value === undefined) return 0;
    const text = JSON.stringify(value);
    const known = this.numbers.get(text);
    if (known !== undefined || this.values.length > MOST) return known;
    this.numbers.set(text, this.values.length);
    return this.values.push(value) - 1;
  }

  at(number: number): Resolved | undefined {
    return this.values[number];
  }

  /** The values by their numbers. */
  get all(): readonly (Resolved | undefined)[] {
    return this.values;
  }

  clear(): void {
    this.numbers.clear();
    this.values = [undefined];
  }
}
