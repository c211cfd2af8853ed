import { setTimeout as sleep } from 'node:timers/promises';
import calculateSlot from 'cluster-key-slot';
import { HalfMove } from '../cluster/half-move.js';
import { startCluster, type RedisCluster } from '../support/redis/cluster.js';
import type { RedisServer } from '../support/redis/redis-server.mjs';
import { startSentinel, type SentinelGroup } from '../support/redis/sentinel.js';
import { EVERYBODY, guest, POOL } from './history/recorded-rules.mjs';
import type { Load } from './site.js';
import { staged, type Spot, type StagedFault } from './stage.js';

const MASTERS = 3;
/** How long a master on a busy machine may take to replicate a charge after its reply. */
const REPLICATED_WITHIN_MS = 1000;
const FAILOVER = { deciding: 'either', breaker: 'any', losesMs: REPLICATED_WITHIN_MS } as const;
const MOVE = { deciding: 'either', breaker: 'any' } as const;
/** So that it is met by requests that the deny cache does not deny. */
const HALF_MOVED_MS = 1500;
/** Guests whose slots move while they send requests. */
const MOVING = [EVERYBODY, POOL, ...Array.from({ length: 20 }, (_, nth) => guest(nth))];

interface InSentinel extends Spot {
  readonly group: SentinelGroup;
  /** The master before the fault. */
  readonly master: RedisServer;
}

interface InCluster extends Spot {
  readonly cluster: RedisCluster;
  /** The master of the subjects that all processes use. */
  readonly master: RedisServer;
  readonly other: RedisServer;
  /** The move of their slot to another master. */
  readonly move: HalfMove;
}

/** Faults of several servers in a Sentinel or Cluster topology. */
export const topologyFaults: readonly StagedFault[] = [
  staged<InSentinel>(openSentinel, {
    name: 'Sentinel: the master is killed, a replica takes over',
    ...FAILOVER,
    make: ({ group }) => group.killMaster(),
    heal: ({ group, master }) => group.untilReplaced(master),
  }),
  staged<InCluster>(() => openCluster({ replicas: true }), {
    name: 'Cluster: a master is killed, its replica takes over',
    ...FAILOVER,
    make: ({ master }) => master.kill(),
    heal: ({ cluster, master }) => cluster.untilReplaced(master),
  }),
  staged<InCluster>(() => openCluster({ replicas: false }), {
    name: 'Cluster: a node without a replica is lost and restarts empty',
    deciding: 'either',
    breaker: 'any',
    forgets: true,
    make: ({ master }) => master.kill(),
    heal: async ({ cluster, master }) => {
      await master.restart();
      await cluster.untilWhole();
    },
  }),
  staged<InCluster>(() => openCluster({ replicas: false }), {
    name: 'Cluster: slots move to another node under load',
    ...MOVE,
    make: async () => undefined,
    goOn: moveBackAndForth,
    heal: ({ cluster }) => cluster.untilWhole(),
  }),
  staged<InCluster>(() => openCluster({ replicas: false }), {
    name: 'Cluster: a slot stays half-moved (TRYAGAIN)',
    ...MOVE,
    make: ({ move }) => move.begin(`history:{${EVERYBODY}}:blocking:sliding-window-log2/100`),
    goOn: () => sleep(HALF_MOVED_MS),
    heal: ({ move }) => move.close(),
  }),
];

async function openSentinel(): Promise<InSentinel> {
  const group = await startSentinel();
  const master = await group.master();
  return { redis: group.options, servers: 1, group, master, close: () => group.close() };
}

async function openCluster({ replicas }: { replicas: boolean }): Promise<InCluster> {
  // The other nodes continue without the lost slots.
  const cluster = await startCluster({ replicas, config: ['cluster-require-full-coverage no'] });
  const master = await cluster.ownerOf(calculateSlot(EVERYBODY));
  const other = cluster.nodes.slice(0, MASTERS).find((node) => node !== master)!;
  const isOfMaster = await cluster.slotsOf(master);
  return {
    redis: other.url,
    servers: MASTERS,
    mayLose: (subject) => isOfMaster(calculateSlot(subject)),
    cluster,
    master,
    other,
    move: await HalfMove.of(cluster, EVERYBODY),
    close: () => cluster.close(),
  };
}

/** Moves the slots of the guests, with all their keys, to another node and back. */
async function moveBackAndForth({
  cluster,
  other,
  application,
}: InCluster & { application: Load }): Promise<void> {
  for (const subject of MOVING) {
    const slot = calculateSlot(subject);
    const owner = await cluster.ownerOf(slot);
    const target = owner === other ? cluster.nodes.find((node) => node !== other)! : other;
    await cluster.moveSlots([slot], owner, target);
    await application.more(10);
    await cluster.moveSlots([slot], target, owner);
  }
}
