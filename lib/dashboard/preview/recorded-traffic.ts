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
