import { LruEntry, LruMap } from '../contracts/lru-map.js';
import { ReplayedCounter } from '../replay/counter.js';
import { copyOfText } from '../rules/subject.js';

/** A client: all requests of one subject. */
export class Client extends LruEntry<Client> {
  requests = 0;
  /** The times of its requests, if limits are searched for. */
  times?: number[];

  /** @param counters one for each rule */
  constructor(
    subject: string,
    readonly counters: readonly ReplayedCounter[],
  ) {
    super(subject, 1);
  }
}

/** Options of `Clients`. */
interface ClientsOptions {
  /** Number of rules. */
  readonly rules: number;
  /** Maximum total size of the clients in memory. */
  readonly maxSize: number;
  /** Deletes the expired states of a client, and returns its size with the others: an integer from 1. */
  readonly measure: (client: Client) => number;
  /** Receives a client that is dropped from memory. */
  readonly onDropped: (client: Client) => void;
}

/** The clients of a simulation, with a maximum total size: the least recently seen clients are dropped. */
export class Clients {
  private readonly clients: LruMap<Client>;

  constructor(private readonly options: ClientsOptions) {
    this.clients = new LruMap<Client>(Infinity, options.maxSize, options.onDropped);
  }

  /** Returns the client with a subject, which sends one more request. */
  take(subject: string): Client {
    const client = this.clients.get(subject) ?? this.added(subject);
    this.clients.use(client);
    client.requests += 1;
    return client;
  }

  /** Measures a client after its request, and another one, whose states may have expired. */
  measure(client: Client): void {
    const { clients, options } = this;
    clients.resize(client, options.measure(client));
    clients.sweep((other) => {
      clients.resize(other, options.measure(other));
      return false;
    }, 1);
  }

  /** Drops all clients, the least recently seen first. */
  dropAll(): void {
    this.clients.sweep(() => false); // The next sweep begins with the first client.
    this.clients.sweep(() => true).forEach(this.options.onDropped);
  }

  private added(subject: string): Client {
    const counters = Array.from({ length: this.options.rules }, () => new ReplayedCounter());
    // A part of a line would keep the whole chunk of the file in memory.
    const client = new Client(copyOfText(subject), counters);
    this.clients.add(client);
    return client;
  }
}
