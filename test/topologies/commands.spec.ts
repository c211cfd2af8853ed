import { expect, it } from '@jest/globals';
import { textOf } from '../readme/code-blocks.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { monitorCommands } from '../support/redis/monitor.js';
import { startRedisServer } from '../support/redis/redis-server.mjs';
import { sourceOf, topologyContract } from './topology.js';

/** Returns the commands in a row of docs/servers.md. */
function documented(row: string): string[] {
  const [, list = ''] = new RegExp(`^\\| ${row} +\\|([^|]+)\\|`, 'm').exec(textOf('docs/servers.md')) ?? [];
  return [...list.matchAll(/`([^`]+)`/g)].map(([, command]) => command!).sort();
}

const WITH_SUBCOMMAND = ['CLIENT', 'CLUSTER', 'FUNCTION', 'SCRIPT'];

topologyContract(
  'a server on which every command is recorded',
  async () => {
    const server = await startRedisServer();
    const { url } = server;
    const seen = { client: new Set<string>(), script: new Set<string>() };
    const stopMonitoring = await monitorCommands(url, ({ name, args: [sub = ''], inScript }) => {
      const command = name.toUpperCase();
      const full = WITH_SUBCOMMAND.includes(command) ? `${command} ${sub.toUpperCase()}` : command;
      seen[inScript ? 'script' : 'client'].add(full);
    });
    const stop = async () => {
      stopMonitoring();
      await server.stop();
    };
    return { redis: url, seen, stop };
  },
  (servers) => {
    it('the commands that clients send are those in the table of servers', async () => {
      expect(await sourceOf(servers().redis, uniquePrefix())).toBe('redis'); // In the server's time: the contract has a clock.
      const { client } = servers().seen;
      const isSent: Record<string, boolean> = {
        HELLO: process.env['IOREDIS'] === undefined, // Clients before ioredis 6 send it with a password only.
        PING: client.has('PING'), // The subscriber sends it every second.
        'CLIENT SETINFO': client.has('CLIENT SETINFO'), // Servers before 7.2 reject it, and record no such command.
      };
      expect([...client].sort()).toEqual(documented('client').filter((command) => isSent[command] ?? true));
    });

    it('the commands that the Lua runs are those in the table of servers', () => {
      expect([...servers().seen.script].sort()).toEqual(documented('Lua'));
    });
  },
);
