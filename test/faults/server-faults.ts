import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { library } from '../../lib/stores/redis/wire/library.js';
import { askServer, openAdmin } from '../support/redis/ask-server.js';
import { hasFunctions } from '../support/redis/lua-calls.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { until } from '../support/redis/until.mjs';
import type { ServerFault } from './fault.js';
import { onlyFull, scaled } from './scale.js';
import type { Place } from './site.js';

const FALLBACK = { deciding: 'fallback', breaker: 'once' } as const;

const FUNCTIONS_LOST: readonly ServerFault[] = [
  lost('FUNCTION FLUSH every 50 ms', scaled(400, 20), 50, (admin) => admin.call('FUNCTION', 'FLUSH')),
  lost('FUNCTION DELETE every 50 ms', scaled(400, 20), 50, deleteLibrary),
];

/** Faults of the server itself. */
export const serverFaults: readonly ServerFault[] = [
  {
    name: 'kill -9, restart with its append-only file',
    ...FALLBACK,
    // With `everysec`, replies that are sent during a long fsync are written up to 2 s later, so they are lost with
    // the process.
    server: { config: ['appendonly yes', 'appendfsync no'] },
    make: ({ server }) => server.kill(),
    heal: ({ server }) => server.restart(),
  },
  {
    name: 'kill -9, restart empty',
    ...FALLBACK,
    forgets: true,
    make: ({ server }) => server.kill(),
    heal: ({ server }) => server.restart(),
  },
  stopped(1500),
  ...onlyFull(stopped(30_000)),
  lost('SCRIPT FLUSH every 10 ms', scaled(1000, 50), 10, (admin) => admin.script('FLUSH')),
  ...(hasFunctions ? FUNCTIONS_LOST : []),
  {
    name: 'out of memory (noeviction)',
    ...FALLBACK,
    decidesSome: true, // A denial needs no memory, and a script that has written once may go on.
    make: ({ admin }) => admin.config('SET', 'maxmemory', '1'), // A byte: no buffer that Redis frees makes room.
    heal: ({ admin }) => admin.config('SET', 'maxmemory', '0'),
  },
  {
    name: 'READONLY: the server becomes a replica',
    ...FALLBACK,
    forgets: true,
    make: demote,
    heal: ({ admin }) => admin.replicaof('NO', 'ONE'),
  },
  {
    name: 'NOAUTH: a password is required',
    ...FALLBACK,
    make: ({ admin }) => changePassword(admin, 'another'),
    heal: ({ admin }) => admin.config('SET', 'requirepass', ''),
  },
  {
    name: 'WRONGPASS: the password is changed',
    ...FALLBACK,
    server: { password: 'secret' },
    make: ({ admin }) => changePassword(admin, 'another'),
    heal: ({ admin }) => admin.config('SET', 'requirepass', 'secret'),
  },
  {
    name: 'LOADING a large file',
    ...FALLBACK,
    server: { config: ['enable-debug-command local', 'loading-process-events-interval-bytes 1024'] },
    make: load,
    heal: async ({ admin, server }) => {
      await admin.config('SET', 'key-load-delay', '0');
      await until(() => answers(server), 'the server to have loaded');
    },
  },
  {
    name: "BUSY with another client's script",
    ...FALLBACK,
    server: { config: ['busy-reply-threshold 10'] },
    make: ({ server }) => occupy(server, 'EVAL', 'while true do end', '0'),
    heal: async ({ server }) => {
      await askServer(server, 'SCRIPT', 'KILL');
      await until(() => answers(server), 'the script to be killed');
    },
  },
];

function stopped(milliseconds: number): ServerFault {
  return {
    name: `SIGSTOP for ${milliseconds / 1000} s`,
    ...FALLBACK,
    make: ({ server }) => server.pause(),
    goOn: () => sleep(milliseconds),
    heal: ({ server }) => server.resume(),
  };
}

/** The server loses the limiter's Lua repeatedly. */
function lost(
  name: string,
  times: number,
  everyMs: number,
  lose: (admin: Redis) => Promise<unknown>,
): ServerFault {
  const goOn = async ({ admin }: Place): Promise<void> => {
    for (let time = 0; time < times; time++) {
      await lose(admin);
      await sleep(everyMs);
    }
  };
  const atOnce = async (): Promise<void> => undefined;
  return { name, deciding: 'only redis', breaker: 'any', make: atOnce, goOn, heal: atOnce };
}

async function deleteLibrary(admin: Redis): Promise<unknown> {
  // It may not have been loaded again since the last time.
  return admin.call('FUNCTION', 'DELETE', library().name).catch(() => undefined);
}

async function demote({ admin, whenClosed }: Place): Promise<void> {
  const master = await startRedisServer();
  whenClosed(() => master.stop());
  await admin.replicaof(master.host, master.port);
}

/** A password is required only for new connections, so all others are closed. */
async function changePassword(admin: Redis, password: string): Promise<void> {
  await admin.config('SET', 'requirepass', password);
  for (const type of ['normal', 'pubsub']) await admin.call('CLIENT', 'KILL', 'TYPE', type);
}

async function load({ admin, server }: Place): Promise<void> {
  await admin.call('DEBUG', 'POPULATE', '20000');
  await admin.config('SET', 'key-load-delay', '5000');
  await occupy(server, 'DEBUG', 'RELOAD');
}

/** Sends the server a command whose reply comes only when the fault is over. */
async function occupy(server: RedisServer, command: string, ...args: string[]): Promise<void> {
  const client = openAdmin(server);
  const over = (): void => client.disconnect();
  client.call(command, ...args).then(over, over);
  await until(async () => !(await answers(server)), `${command} to keep the server busy`);
}

async function answers(server: RedisServer): Promise<boolean> {
  return askServer(server, 'PING').then(
    () => true,
    () => false,
  );
}
