import { askInfo, askServer, untilInSync } from './ask-server.js';
import { startRedisServer, type RedisServer, type RedisServerOptions } from './redis-server.mjs';
import { until } from './until.mjs';

const NAME = 'main';
const SETTLED_MS = 30_000;

/** Milliseconds after which a sentinel considers a server that does not reply as down. */
const DOWN_AFTER = {
  /** Long enough that a server on a busy machine is not considered down. */
  calm: '30000',
  hasty: '1000',
};

/**
 * Starts a master, two replicas and three sentinels, and waits until each of them knows all others and the replicas
 * are in sync.
 */
export async function startSentinel(): Promise<SentinelGroup> {
  const servers: RedisServer[] = [];
  const sentinels: RedisServer[] = [];
  const group = new SentinelGroup(servers, sentinels);
  const add = async (list: RedisServer[], options?: RedisServerOptions) => {
    const server = await startRedisServer(options);
    list.push(server);
    return server;
  };
  try {
    const master = await add(servers);
    const config = watchOver(master);
    await Promise.all([
      ...[1, 2].map(() => add(servers, { replicaOf: master })),
      ...[1, 2, 3].map(() => add(sentinels, { sentinel: true, config })),
    ]);
    await Promise.all(servers.slice(1).map(untilInSync));
    const haveMet = async () => (await Promise.all(sentinels.map(knowsAll))).every(Boolean);
    await until(haveMet, 'the sentinels to meet', SETTLED_MS);
    return group;
  } catch (error) {
    await group.close();
    throw error;
  }
}

function watchOver({ host, port }: RedisServer): string[] {
  return [
    `sentinel monitor ${NAME} ${host} ${port} 2`,
    `sentinel down-after-milliseconds ${NAME} ${DOWN_AFTER.calm}`,
    `sentinel failover-timeout ${NAME} 3000`,
  ];
}

/** A master and two replicas, monitored by three sentinels that decide by majority. Close it in `afterAll`. */
export class SentinelGroup {
  /** @param servers the master, then its replicas */
  constructor(
    readonly servers: readonly RedisServer[],
    readonly sentinels: readonly RedisServer[],
  ) {}

  /** The ioredis options that connect to the current master. */
  get options(): { sentinels: { host: string; port: number }[]; name: string } {
    return { sentinels: this.sentinels.map(({ host, port }) => ({ host, port })), name: NAME };
  }

  /** Returns the server that the first sentinel reports as the master. */
  async master(): Promise<RedisServer> {
    const [port] = await this.everySentinel(masterPort);
    return this.servers.find((server) => server.port === port)!;
  }

  /**
   * Kills the master. Resolves to it when it has ended, so that it can be restarted: about ten seconds after that,
   * the sentinels make it a replica.
   */
  async killMaster(): Promise<RedisServer> {
    const master = await this.master();
    await master.kill();
    return master;
  }

  /**
   * Waits until all sentinels report another master than this one, which is down; resolves to the new master. Only
   * this call speeds up the detection, which takes half a minute otherwise.
   */
  async untilReplaced({ port: old }: RedisServer): Promise<RedisServer> {
    const isReplaced = async () => {
      const ports = new Set(await this.everySentinel(masterPort));
      if (ports.size > 1 || ports.has(old)) return false;
      return (await askInfo(await this.master(), 'INFO', 'replication')).get('role') === 'master';
    };
    await this.setDownAfter(DOWN_AFTER.hasty);
    await until(isReplaced, `the sentinels to replace the master on port ${old}`, SETTLED_MS);
    await this.setDownAfter(DOWN_AFTER.calm);
    return this.master();
  }

  /** Stops all servers. */
  async close(): Promise<void> {
    await Promise.all([...this.sentinels, ...this.servers].map((server) => server.stop()));
  }

  private async setDownAfter(milliseconds: string): Promise<void> {
    await this.everySentinel((sentinel) =>
      askServer(sentinel, 'SENTINEL', 'SET', NAME, 'down-after-milliseconds', milliseconds),
    );
  }

  private everySentinel<Answer>(ask: (sentinel: RedisServer) => Promise<Answer>): Promise<Answer[]> {
    return Promise.all(this.sentinels.filter(({ isUp }) => isUp).map(ask));
  }
}

async function masterPort(sentinel: RedisServer): Promise<number> {
  const address = await askServer(sentinel, 'SENTINEL', 'GET-MASTER-ADDR-BY-NAME', NAME);
  return Number((address as string[])[1]);
}

/** A sentinel fails over only when it knows the other two, and only to a replica that it knows. */
async function knowsAll(sentinel: RedisServer): Promise<boolean> {
  const info = await askInfo(sentinel, 'INFO', 'sentinel');
  return /status=ok,.*slaves=2,sentinels=3/.test(info.get('master0') ?? '');
}
