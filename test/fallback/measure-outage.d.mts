export interface Measured {
  /** What Redis has allowed. */
  readonly redis: number;
  /** What the fallback has allowed in all processes. */
  readonly fallback: number;
  /** The most that it has allowed in one process. */
  readonly mostOfOne: number;
  /** The most that it may allow. */
  readonly bound: number;
  /** Whether every process has emitted decisions of the fallback. */
  readonly isReported: boolean;
}

export declare const FAULTS: Readonly<Record<string, unknown>>;

export declare function measure(processes: number, fault: string): Promise<Measured>;
