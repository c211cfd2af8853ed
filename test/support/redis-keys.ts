import { Redis } from 'ioredis';

/** Reads and marks the keys under a prefix, as somebody would who looks at the server. */
export class RedisKeys {
  readonly redis: Redis;

  constructor(
    url: string,
    private readonly prefix: string,
  ) {
    this.redis = new Redis(url);
  }

  /** Without that of the heartbeats, which comes with the first process and goes with the last. */
  async names(): Promise<string[]> {
    const names: string[] = [];
    let cursor = '0';
    do {
      const [next, found] = await this.redis.scan(cursor, 'MATCH', `${this.prefix}*`, 'COUNT', 1000);
      names.push(...found);
      cursor = next;
    } while (cursor !== '0');
    return [...new Set(names)].filter((name) => !name.includes('{instances}')).sort();
  }

  /** Milliseconds that each key has to live: -1 for ever. */
  async lifetimes(): Promise<number[]> {
    return Promise.all((await this.names()).map((name) => this.redis.pttl(name)));
  }

  /** Lets every key live for ever, so that any write that gives it a lifetime shows. */
  async persist(): Promise<void> {
    for (const name of await this.names()) await this.redis.persist(name);
  }

  /** Every key by its name: all that is in it, byte by byte, and its lifetime. */
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
