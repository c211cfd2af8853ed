import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';

/**
 * A command as sent by a client: its name in lower case, with control characters and other unusual bytes as MONITOR
 * escapes them.
 */
export interface RecordedCommand {
  name: string;
  args: string[];
}

/**
 * Returns the commands that clients sent during an action, in the server's order, without those in scripts.
 * Heartbeats are left out, because they are sent by a timer. It records all clients of the server, so use a separate
 * server. A client that connects during the action is recorded with its handshake, so connect it before.
 */
export async function recordCommands(
  url: string,
  action: () => Promise<unknown>,
): Promise<RecordedCommand[]> {
  const marker = new Redis(url, { retryStrategy: () => null });
  await marker.ping(); // The handshake is complete before the recording starts.
  const monitor = await marker.monitor();
  const recorded: RecordedCommand[] = [];
  const token = randomUUID();
  const ended = new Promise<void>((resolve) => {
    monitor.on('monitor', (_time: string, [name = '', ...args]: string[], source: string) => {
      if (args[0] === token) resolve();
      else if (source !== 'lua' && !args.some((arg) => arg.includes('{instances}')))
        recorded.push({ name: name.toLowerCase(), args });
    });
  });
  try {
    await action();
    await marker.echo(token);
    await ended;
    return recorded;
  } finally {
    marker.disconnect();
    monitor.disconnect();
  }
}
