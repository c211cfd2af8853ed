import { Redis } from 'ioredis';

/** Reads and marks the keys with a prefix, like an operator who inspects the server. */
export class RedisKeys {
  readonly redis: Redis;

  constructor(
    url: string,
    private readonly prefix: string,
  ) {
    this.redis = new Redis(url);
  }

  /** Without the key of the heartbeats, which exists while any process runs. */
  async names(): Promise<string[]> {
    const names: string[] = [];
    let cursor = '0';
    do {
      const [next, found] = await this.redis.scan(cursor, 'MATCH', `${this.prefix}*`, 'COUNT', 1000);
      names.push(...found);
      cursor = next;
    } while (cursor !== '0');
    return [...new Set(names)].filter((name) => !name.endsWith('{instances}')).sort();
  }

  /** The time to live of each key in milliseconds; -1 without an expiry. */
  async lifetimes(): Promise<number[]> {
    return Promise.all((await this.names()).map((name) => this.redis.pttl(name)));
  }

  /** Removes the expiry of every key, so that any write that sets one is visible. */
  async persist(): Promise<void> {
    for (const name of await this.names()) await this.redis.persist(name);
  }

  /** Every key by its name, with its bytes and its time to live. */
  async contents(): Promise<Record<string, { dump: string; lifetime: number }>> {
    const entries = (await this.names()).map(async (name) => {
      const dump = (await this.redis.dumpBuffer(name)).toString('hex');
      return [name, { dump, lifetime: await this.redis.pttl(name) }] as const;
    });
    return Object.fromEntries(await Promise.all(entries));
  }

  close(): void {
    this.redis.disconnect();
  }
}
