import { describe, expect, it } from '@jest/globals';
import type { StoreClient } from './connection.js';
import { ClusterServers } from './topology.js';

/** A cluster of three masters that records what happens to its sockets. One master has no connection. */
function openCluster() {
  const noted: string[] = [];
  const socket = (name: string) => ({
    cork: () => void noted.push(`cork ${name}`),
    uncork: () => void noted.push(`uncork ${name}`),
  });
  const masters = [{ stream: socket('a') }, { stream: undefined }, { stream: socket('b') }];
  const client = { nodes: () => masters, options: {} } as unknown as StoreClient;
  return { noted, servers: new ClusterServers(client) };
}

describe('several calls to the servers of a cluster', () => {
  it('are held back until all are made, so that each server gets its calls in one piece', () => {
    const { noted, servers } = openCluster();
    servers.sendTogether(() => noted.push('send'));
    expect(noted).toEqual(['cork a', 'cork b', 'send', 'uncork a', 'uncork b']);
  });

  it('are not held back forever if one cannot be made', () => {
    const { noted, servers } = openCluster();
    const send = () => {
      throw new Error('no');
    };
    expect(() => servers.sendTogether(send)).toThrow('no');
    expect(noted).toEqual(['cork a', 'cork b', 'uncork a', 'uncork b']);
  });
});
