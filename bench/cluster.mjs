// Starts Redis Clusters for benchmarks: masters only, on free ports.
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { startRedisServer } from '../test/support/redis/redis-server.mjs';
import { measured } from './measured-server.mjs';

const SLOTS = 16_384;
const TRIES = 600;

/** Starts a number of masters that share the slots evenly, and waits until all of them report a complete cluster. */
export async function startMeasuredCluster(size) {
  // A node that has not met another node does not know its own address.
  const config = ['cluster-enabled yes', 'cluster-announce-ip 127.0.0.1'];
  const start = () => startRedisServer({ config });
  const servers = await Promise.all(Array.from({ length: size }, start));
  const clients = servers.map(({ url }) => new Redis(url));
  for (const [index, client] of clients.entries()) {
    await client.cluster('SET-CONFIG-EPOCH', index + 1);
    await client.cluster('ADDSLOTSRANGE', slotBefore(index, size), slotBefore(index + 1, size) - 1);
  }
  for (const { host, port } of servers.slice(1)) await clients[0].cluster('MEET', host, port);
  await Promise.all(clients.map((client) => untilWhole(client, size)));
  for (const client of clients) client.disconnect();
  return measured(
    servers,
    servers.map(({ host, port }) => ({ host, port })),
  );
}

/** The first slot of a master; for the index after the last master, the number of slots. */
function slotBefore(index, size) {
  return Math.round((index * SLOTS) / size);
}

async function untilWhole(client, size) {
  const wanted = ['cluster_state:ok', `cluster_slots_assigned:${SLOTS}`, `cluster_size:${size}`];
  for (let tries = 0; tries < TRIES; tries++) {
    const info = await client.cluster('INFO');
    if (wanted.every((line) => info.includes(`${line}\r\n`))) return;
    await sleep(50);
  }
  throw new Error(`A cluster of ${size} was not whole in time: ${await client.cluster('INFO')}`);
}
