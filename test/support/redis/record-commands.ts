import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { monitorCommands, type MonitoredCommand } from './monitor.js';

export type RecordedCommand = Pick<MonitoredCommand, 'name' | 'args'>;

/**
 * Returns the commands that clients sent during an action, in the server's order, without those in scripts.
 * It records all clients of the server, so use a separate server. A client that connects during the action is recorded
 * with its handshake, so connect it before.
 */
export function recordCommands(url: string, action: () => Promise<unknown>): Promise<RecordedCommand[]> {
  return record(url, action, ({ inScript }) => !inScript);
}

const READS = new Set(['mget', 'lindex', 'time']);

/**
 * Returns the writes of scripts during an action, in the server's order. It records all clients of the server, so use
 * a separate server.
 */
export function recordScriptWrites(url: string, action: () => Promise<unknown>): Promise<RecordedCommand[]> {
  return record(url, action, ({ inScript, name }) => inScript && !READS.has(name));
}

/** Records the commands that are wanted, without those of heartbeats, because a timer sends them. */
async function record(
  url: string,
  action: () => Promise<unknown>,
  isWanted: (command: MonitoredCommand) => boolean,
): Promise<RecordedCommand[]> {
  const marker = new Redis(url, { retryStrategy: () => null });
  await marker.ping(); // The handshake is complete before the recording starts.
  const recorded: RecordedCommand[] = [];
  const token = randomUUID();
  let end: () => void;
  const ended = new Promise<void>((resolve) => (end = resolve));
  const stop = await monitorCommands(url, (command) => {
    const { name, args } = command;
    if (args[0] === token) end();
    else if (isWanted(command) && !args.some((arg) => arg.includes('{instances}')))
      recorded.push({ name, args });
  });
  try {
    await action();
    await marker.echo(token);
    await ended;
    return recorded;
  } finally {
    marker.disconnect();
    stop();
  }
}
