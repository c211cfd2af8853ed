import { askServer } from './ask-server.js';
import { clusterId, formCluster } from './cluster-formation.js';
import { askView, isWhole, serves, untilViews, type ClusterView } from './cluster-view.js';
import { startRedisServer, type RedisServer } from './redis-server.mjs';
import { selfSigned } from './self-signed.mjs';
import { SlotMover } from './slot-mover.js';

export interface RedisClusterOptions {
  /** Whether each of the three masters has a replica that takes over from it. @default true */
  replicas?: boolean;
  /** Lines for each redis.conf. @default [] */
  config?: string[];
  /** What clients of every node have to log in with. @default none is asked */
  password?: string;
  /** Whether the nodes speak TLS only, among one another too: trust the cluster's `ca`. @default false */
  tls?: boolean;
}

/** After how many milliseconds a node that does not answer is down to the others. */
const NODE_TIMEOUT = {
  /** With a longer one, nodes that have just met take longer to tell one another. */
  joining: '2000',
  /** So that a machine that is too busy for a while does not look like a dead node. */
  calm: '30000',
  hasty: '1000',
};

/** Starts three masters, with a replica each, and waits until all say that their cluster is whole. */
export async function startCluster(options: RedisClusterOptions = {}): Promise<RedisCluster> {
  const { replicas = true, config = [], password, tls = false } = options;
  const lines = ['cluster-enabled yes', `cluster-node-timeout ${NODE_TIMEOUT.joining}`, ...config];
  const nodes: RedisServer[] = [];
  const login = password === undefined ? {} : { password };
  const server = { config: lines, ...login, tls: tls && selfSigned() };
  const add = async () => nodes.push(await startRedisServer(server));
  const cluster = new RedisCluster(nodes);
  try {
    await Promise.all(Array.from({ length: replicas ? 6 : 3 }, add));
    await formCluster(nodes.slice(0, 3), nodes.slice(3));
    await cluster.setNodeTimeout(NODE_TIMEOUT.calm);
    return cluster;
  } catch (error) {
    await cluster.close();
    throw error;
  }
}

/** A cluster of the caller's own. Close it in `afterAll`. */
export class RedisCluster {
  /** @param nodes the three masters, then the replica of each in the same order */
  constructor(readonly nodes: readonly RedisServer[]) {}

  /** What ioredis connects with. */
  get startNodes(): { host: string; port: number }[] {
    return this.nodes.map(({ host, port }) => ({ host, port }));
  }

  /** The certificate to trust, in PEM, if the nodes speak TLS. */
  get ca(): string | undefined {
    return this.nodes[0]?.ca;
  }

  /** The slot of a key: a number below 16384. */
  async slotOf(key: string): Promise<number> {
    return Number(await askServer(this.up[0]!, 'CLUSTER', 'KEYSLOT', key));
  }

  /** The master that serves a slot. */
  async ownerOf(slot: number): Promise<RedisServer> {
    const { nodes } = await askView(this.up[0]!);
    const owner = nodes.find((node) => serves(node, slot));
    const server = this.nodes.find(({ port }) => port === owner?.port);
    if (!server) throw new Error(`No node of the cluster serves slot ${slot}`);
    return server;
  }

  /** Whether a master serves a slot now. */
  async slotsOf({ port }: RedisServer): Promise<(slot: number) => boolean> {
    const { nodes } = await askView(this.up[0]!);
    const master = nodes.find((node) => node.port === port)!;
    return (slot) => serves(master, slot);
  }

  /** Waits until all slots are served, and the nodes that are up agree on their roles. */
  async untilWhole(): Promise<void> {
    await untilViews(this.nodes, isWhole, 'the cluster to be whole');
  }

  /**
   * Waits until the cluster is whole without this node, which is not up: a replica has its slots now.
   *
   * Only from here on do the others hurry to notice: by themselves it takes them half a minute.
   */
  async untilReplaced({ port }: RedisServer): Promise<void> {
    const isOwner = ({ nodes }: ClusterView) =>
      nodes.some((node) => node.port === port && node.slots.length > 0);
    await this.setNodeTimeout(NODE_TIMEOUT.hasty);
    await untilViews(
      this.nodes,
      (views) => isWhole(views) && !views.some(isOwner),
      `the cluster to replace its node on port ${port}`,
    );
    await this.setNodeTimeout(NODE_TIMEOUT.calm);
  }

  /** Prepares moves of slots from a master to another. Close it after them. */
  async mover(from: RedisServer, to: RedisServer): Promise<SlotMover> {
    const { nodes } = await askView(to);
    const isThere = ({ port }: RedisServer) =>
      nodes.some((node) => node.port === port && !node.master && !node.isMissing);
    const ids = { from: await clusterId(from), to: await clusterId(to) };
    const mover = new SlotMover(from, to, ids, this.nodes.filter(isThere));
    await mover.ready();
    return mover;
  }

  /** Moves slots with all their keys from a master to another, one by one, while clients go on. */
  async moveSlots(slots: Iterable<number>, from: RedisServer, to: RedisServer): Promise<void> {
    const mover = await this.mover(from, to);
    try {
      for (const slot of slots) {
        await mover.begin(slot);
        await mover.moveKeys(slot);
        await mover.finish(slot);
      }
    } finally {
      mover.close();
    }
  }

  /** Ends all its nodes. */
  async close(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stop()));
  }

  /** Tells all nodes that are up, for after a restart as well. */
  async setNodeTimeout(milliseconds: string): Promise<void> {
    const tell = async (node: RedisServer) => {
      await askServer(node, 'CONFIG', 'SET', 'cluster-node-timeout', milliseconds);
      await askServer(node, 'CONFIG', 'REWRITE');
    };
    await Promise.all(this.up.map(tell));
  }

  private get up(): RedisServer[] {
    return this.nodes.filter(({ isUp }) => isUp);
  }
}
