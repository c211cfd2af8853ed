import type { ReplayedCounter } from '../rules/replay.js';

/** What a simulation knows of one client under one rule. */
export interface ClientRecord extends ReplayedCounter {
  denied: number;
  /** Size of the state: an integer from 0. */
  size: number;
}

/** A client: all requests of one subject. */
export interface Client {
  readonly subject: string;
  /** Number of the client in the order of first requests, from 0. */
  readonly id: number;
  /** One for each rule. */
  readonly records: readonly ClientRecord[];
  requests: number;
}

export function newClient(subject: string, id: number, rules: number): Client {
  return { subject, id, records: Array.from({ length: rules }, newRecord), requests: 0 };
}

export function newRecord(): ClientRecord {
  return { state: undefined, expiresAt: 0, blockedUntil: 0, denied: 0, size: 0 };
}

/** Returns the size of a client in memory: 1, and the sizes of its states. */
export function sizeOfClient({ records }: Client): number {
  let size = 1;
  for (const record of records) size += record.size;
  return size;
}
