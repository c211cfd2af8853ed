import { askServer, untilInSync } from './ask-server.js';
import { isWhole, untilViews } from './cluster-view.js';
import type { RedisServer } from './redis-server.mjs';

const SLOTS = 16_384;

/**
 * Creates a cluster of empty servers in cluster mode, and waits until all of them report a complete cluster and the
 * replicas are in sync.
 *
 * @param replicas one for each master, in their order, or none
 */
export async function formCluster(masters: RedisServer[], replicas: RedisServer[]): Promise<void> {
  const nodes = [...masters, ...replicas];
  await Promise.all(
    nodes.map((node, index) => askServer(node, 'CLUSTER', 'SET-CONFIG-EPOCH', `${index + 1}`)),
  );
  await Promise.all(masters.map((master, index) => giveSlots(master, index, masters.length)));
  await meet(nodes);
  await Promise.all(replicas.map((replica, index) => follow(replica, masters[index]!)));
  await untilViews(nodes, isWhole, 'the cluster to be whole');
  await Promise.all(replicas.map(untilInSync));
}

async function giveSlots(master: RedisServer, index: number, masters: number): Promise<void> {
  const first = Math.round((index * SLOTS) / masters);
  const end = Math.round(((index + 1) * SLOTS) / masters);
  const slots = Array.from({ length: end - first }, (_, offset) => String(first + offset));
  await askServer(master, 'CLUSTER', 'ADDSLOTS', ...slots); // Redis 6 does not have ADDSLOTSRANGE.
}

async function meet(nodes: RedisServer[]): Promise<void> {
  const [first, ...others] = nodes;
  for (const { host, port } of others) await askServer(first!, 'CLUSTER', 'MEET', host, String(port));
  await untilViews(
    nodes,
    (views) =>
      views.every((view) => view.nodes.length === nodes.length && !view.nodes.some((node) => node.isMissing)),
    'the nodes of the cluster to meet',
  );
}

async function follow(replica: RedisServer, master: RedisServer): Promise<void> {
  await askServer(replica, 'CLUSTER', 'REPLICATE', await clusterId(master));
}

/** Returns the name of a node in its cluster. */
export async function clusterId(node: RedisServer): Promise<string> {
  return String(await askServer(node, 'CLUSTER', 'MYID'));
}
