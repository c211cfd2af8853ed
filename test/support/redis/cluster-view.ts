import { askInfo, askServer } from './ask-server.js';
import type { RedisServer } from './redis-server.mjs';
import { until } from './until.mjs';

/** A cluster as seen by one of its nodes. */
export interface ClusterView {
  /** Whether this node serves requests: it reaches most masters, and every slot is assigned. */
  isOk: boolean;
  nodes: NodeView[];
}

export interface NodeView {
  id: string;
  port: number;
  /** The name of its master, if it is a replica. */
  master: string | undefined;
  /** Whether it has not joined yet, or is considered down. */
  isMissing: boolean;
  /** The first and the last slot of each range that it serves. */
  slots: [first: number, last: number][];
}

const SETTLED_MS = 30_000;

/** Reads the view of a node. */
export async function askView(node: RedisServer): Promise<ClusterView> {
  const info = await askInfo(node, 'CLUSTER', 'INFO');
  const lines = String(await askServer(node, 'CLUSTER', 'NODES'))
    .trim()
    .split('\n');
  return { isOk: info.get('cluster_state') === 'ok', nodes: lines.map(readNode) };
}

/** Waits until the running nodes have a view that meets a condition. */
export async function untilViews(
  nodes: readonly RedisServer[],
  holds: (views: readonly ClusterView[]) => boolean,
  what: string,
): Promise<void> {
  const isSeen = async () => holds(await Promise.all(nodes.filter(({ isUp }) => isUp).map(askView)));
  await until(isSeen, what, SETTLED_MS);
}

/** Whether all slots are served, and the nodes agree on masters and replicas. */
export function isWhole(views: readonly ClusterView[]): boolean {
  return views.every(({ isOk }) => isOk) && new Set(views.map(mapOf)).size === 1;
}

/** Whether a node serves a slot. */
export function serves({ slots }: NodeView, slot: number): boolean {
  return slots.some(([first, last]) => first <= slot && slot <= last);
}

function mapOf({ nodes }: ClusterView): string {
  const roles = nodes.map(({ port, master, slots }) => `${port}: ${master ?? slots.join(' ')}`);
  return roles.sort().join('\n');
}

function readNode(line: string): NodeView {
  const [id = '', address = '', flags = '', master = '', , , , link = '', ...ranges] = line.split(' ');
  const marks = flags.split(',');
  return {
    id,
    port: Number(/:(\d+)@/.exec(address)?.[1]),
    master: marks.includes('master') ? undefined : master,
    isMissing: link !== 'connected' || marks.includes('handshake') || marks.includes('fail'),
    // Moving slots are listed a second time, in brackets.
    slots: ranges.filter((range) => !range.startsWith('[')).map(readRange),
  };
}

function readRange(range: string): [number, number] {
  const [first = '', last = first] = range.split('-');
  return [Number(first), Number(last)];
}
