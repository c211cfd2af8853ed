import { EventEmitter } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import calculateSlot from 'cluster-key-slot';
import type { StoreClient } from './connection.js';
import { ClusterServers } from './topology.js';

/** A cluster of three masters that records what happens to its sockets. One master has no connection. */
function openCluster() {
  const noted: string[] = [];
  const socket = (name: string) => ({
    cork: () => void noted.push(`cork ${name}`),
    uncork: () => void noted.push(`uncork ${name}`),
  });
  const streams = [socket('a'), undefined, socket('b')];
  const masters = streams.map((stream) => ({ stream, on: () => undefined }));
  const client = { nodes: () => masters, options: {}, on: () => undefined } as unknown as StoreClient;
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

describe('the connection to a server', () => {
  const nodeOf = (port: number, status: string) =>
    Object.assign(new EventEmitter(), { status, options: { host: 'redis', port } });

  function serversOf(...nodes: ReturnType<typeof nodeOf>[]): ClusterServers {
    const client = { isCluster: true, nodes: () => nodes, options: {}, on: () => undefined };
    return new ClusterServers(client as unknown as StoreClient);
  }

  it('is one that is ready, since ioredis would queue the call', () => {
    const nodes = [nodeOf(0, 'connect'), nodeOf(1, 'ready')];
    const servers = serversOf(...nodes);
    expect(servers.nodeOf('redis:0')).toBeUndefined();
    expect(servers.nodeOf('redis:1')).toBe(nodes[1]);
    expect(servers.nodeOf('redis:2')).toBeUndefined();
  });

  it('is missing if a call to a connected server is rejected for it, since that server has redirected the call', () => {
    const node = nodeOf(0, 'ready');
    const reached = serversOf(node).reaching('redis:0');
    const closed = new Error('Connection is closed.');
    expect([reached(closed), reached(new Error('ERR'))]).toEqual([false, true]);
    node.emit('close'); // It was that of the call.
    expect(reached(closed)).toBe(true);
  });

  it('is needed for a call to reach a server, also if it comes and goes while the call is queued', () => {
    const [one, other] = [nodeOf(0, 'connecting'), nodeOf(1, 'ready')];
    const servers = serversOf(one, other);
    const reached = servers.reaching('redis:0');
    one.emit('close'); // It could not be established.
    expect([reached(), servers.reaching('redis:1')()]).toEqual([false, true]);
    one.emit('ready');
    expect(reached()).toBe(true);
    const next = servers.reaching('redis:2');
    expect(next()).toBe(false);
    one.emit('close');
    expect(next()).toBe(true);
    const last = servers.reaching('redis:2');
    other.emit('close');
    expect(last()).toBe(true);
  });
});

describe('the slot of a key', () => {
  const slotOf = (keyPrefix: string) =>
    new ClusterServers({ options: { keyPrefix }, on: () => undefined } as unknown as StoreClient).slotOf;

  it.each([
    ['rl:{ann}:login', 'ann'],
    ['rl:{ünï}:login', 'ünï'],
    ['rl:{a{b}c}:login', 'a{b'],
    ['rl:login', 'rl:login'],
    ['rl:{ann', 'rl:{ann'],
    ['rl:}ann{', 'rl:}ann{'],
    ['rl:{}ann', 'rl:{}ann'],
  ])('%s is that of %s', (key, hashed) => {
    expect(slotOf('app:')(key)).toBe(calculateSlot(hashed));
    expect(slotOf('app:')(key)).toBe(calculateSlot(key));
  });

  it('is that of the hash tag in the prefix of the client', () => {
    expect(slotOf('{app}:')('rl:{ann}:login')).toBe(calculateSlot('app'));
  });
});

describe('a slot of a Cluster client', () => {
  it('has its own list of servers, so that a redirection of one slot does not concern the others of its range', () => {
    const range = ['redis:0', 'redis:1'];
    const client = Object.assign(new EventEmitter(), { slots: [range, range], options: {} });
    new ClusterServers(client as unknown as StoreClient);
    client.slots[0]![0] = 'redis:2';
    expect(client.slots).toEqual([['redis:2', 'redis:1'], range]);
    client.slots = [range, range];
    client.emit('refresh');
    client.slots[0]![0] = 'redis:2';
    expect(client.slots).toEqual([['redis:2', 'redis:1'], range]);
  });
});
