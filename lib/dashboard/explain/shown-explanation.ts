import type { NamedSubject, SnapshotChange } from '../snapshot.js';

/** Why a request was denied, see `Explanation`: for a reader with the right to see subjects unmasked. */
export interface ShownExplanation {
  readonly problem?: string;
  readonly at?: number;
  readonly process?: { readonly host: string; readonly pid: number };
  readonly rules: readonly ShownResult[];
}

/** What a rule decided for a denied request. */
export interface ShownResult {
  readonly rule: string;
  readonly route?: string;
  readonly subject: NamedSubject;
  readonly allowed: boolean;
  readonly shadow?: boolean;
  readonly limit: number;
  readonly remaining: number;
  readonly retryAfterMs: number | null;
  readonly source: string;
  readonly fallback?: string | undefined;
  readonly change?: ShownChange;
  readonly exception?: ShownChange;
  readonly recorded?: {
    readonly share: number;
    readonly isWhole: boolean;
    readonly requests: readonly {
      readonly at: number;
      readonly outcome: 'allowed' | 'denied';
      readonly count: number;
    }[];
  };
}

type ShownChange = Pick<SnapshotChange, 'by' | 'reason' | 'at'> & {
  readonly version?: number | undefined;
  readonly fields: unknown;
};
