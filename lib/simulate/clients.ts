import { ReplayedCounter } from '../replay/counter.js';

/** A client: all requests of one subject. */
export interface Client {
  readonly subject: string;
  /** One for each rule. */
  readonly counters: readonly ReplayedCounter[];
  requests: number;
  /** The times of its requests, if limits are searched for. */
  times?: number[];
}

/** Options of `Clients`. */
interface ClientsOptions {
  /** Number of rules. */
  readonly rules: number;
  /** Maximum total size of the clients in memory. */
  readonly maxSize: number;
  /** Deletes the expired states of a client, and returns the size of the others: an integer from 0. */
  readonly measure: (client: Client) => number;
  /** Receives a client that is dropped from memory. */
  readonly onDropped: (client: Client) => void;
}

/** Number of requests after which the states in memory are measured. */
const MEASURED_EVERY = 100_000;

/**
 * The clients of a simulation, with a maximum total size: the least recently seen clients are dropped.
 *
 * They are kept in two generations. When the recent one has half of the maximum size, it becomes the older one, and
 * clients that were not seen since they got into the older one are dropped.
 */
export class Clients {
  private recent = new Map<string, Client>();
  private older = new Map<string, Client>();
  private requestsLeft: number;
  private lastSubject: string | undefined;
  private lastClient: Client | undefined;

  constructor(private readonly options: ClientsOptions) {
    this.requestsLeft = this.mostUnmeasured();
  }

  /** Returns the client with a subject, which has sent one more request. */
  take(subject: string): Client {
    if (--this.requestsLeft <= 0) this.bound();
    if (subject === this.lastSubject) {
      this.lastClient!.requests += 1;
      return this.lastClient!;
    }
    const client = this.recent.get(subject) ?? this.returned(subject) ?? this.added(subject);
    client.requests += 1;
    this.lastSubject = client.subject;
    this.lastClient = client;
    return client;
  }

  /** Drops all clients. */
  dropAll(): void {
    for (const client of this.older.values()) this.options.onDropped(client);
    for (const client of this.recent.values()) this.options.onDropped(client);
    this.recent = new Map();
    this.older = new Map();
    this.lastSubject = undefined;
  }

  private returned(subject: string): Client | undefined {
    const client = this.older.get(subject);
    if (client === undefined) return undefined;
    this.older.delete(subject);
    this.recent.set(client.subject, client);
    return client;
  }

  private added(subject: string): Client {
    // A part of a line keeps the whole chunk of the file in memory: copy it.
    const copy = Buffer.from(subject, 'utf16le').toString('utf16le');
    const counters = Array.from({ length: this.options.rules }, () => new ReplayedCounter());
    const client: Client = { subject: copy, counters, requests: 0 };
    this.recent.set(copy, client);
    return client;
  }

  /** Makes the recent generation the older one if it has half of the maximum size. */
  private bound(): void {
    this.requestsLeft = this.mostUnmeasured();
    const { maxSize, measure, onDropped } = this.options;
    let size = 0;
    for (const client of this.recent.values()) size += 1 + measure(client);
    if (size < maxSize / 2) return;
    for (const client of this.older.values()) onDropped(client);
    this.older = this.recent;
    this.recent = new Map();
    this.lastSubject = undefined;
  }

  /** A request adds at most a client and an entry for each rule: an eighth of the maximum size at most. */
  private mostUnmeasured(): number {
    const { maxSize, rules } = this.options;
    return Math.max(1, Math.min(MEASURED_EVERY, Math.floor(maxSize / 8 / (1 + rules))));
  }
}
