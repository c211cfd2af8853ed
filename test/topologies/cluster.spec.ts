import { Cluster } from 'ioredis';
import { startCluster } from '../support/redis/cluster.js';
import { topologyContract } from './topology.js';

topologyContract("a cluster, through a user's client", async () => {
  const cluster = await startCluster({ replicas: false });
  const mine = new Cluster(cluster.startNodes);
  const stop = () => {
    mine.disconnect();
    return cluster.close();
  };
  return { redis: mine, stop };
});
