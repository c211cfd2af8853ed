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

/** The clients of a simulation, with a maximum total size: the least recently seen clients are dropped. */
export class Clients extends LruMap<Client> {
  /**
   * @param rules number of rules
   * @param sizeOf deletes the expired states of a client, and returns its size with the others: an integer from 1
   * @param onDropped receives a client that is dropped from memory
   */
  constructor(
    private readonly rules: number,
    maxSize: number,
    private readonly sizeOf: (client: Client) => number,
    private readonly onDropped: (client: Client) => void,
  ) {
    super(Infinity, maxSize, onDropped);
  }

  /** Returns the client with a subject, which sends one more request. */
  take(subject: string): Client {
    const client = this.get(subject) ?? this.added(subject);
    this.use(client);
    client.requests += 1;
    return client;
  }

  /** Measures a client after its request, and another one, whose states may have expired. */
  measure(client: Client): void {
    this.resize(client, this.sizeOf(client));
    this.sweep((other) => {
      this.resize(other, this.sizeOf(other));
      return false;
    }, 1);
  }

  /** Drops all clients, the least recently seen first. */
  dropAll(): void {
    this.sweep(() => false); // The next sweep begins with the first client.
    this.sweep(() => true).forEach(this.onDropped);
  }

  private added(subject: string): Client {
    const counters = Array.from({ length: this.rules }, () => new ReplayedCounter());
    // A part of a line would keep the whole chunk of the file in memory.
    const client = new Client(copyOfText(subject), counters);
    this.add(client);
    return client;
  }
}
