import type { AddedRequest, RecordedRequest } from './recorded-traffic.js';

/** What a column holds instead of a time until the refund. */
const CHARGED = 0;
const DENIED = 0xffffffff;

/** A request with the number of what it determined, see `ResolvedValues`. */
export interface RequestRow extends Omit<RecordedRequest, 'resolved'> {
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
