import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';

/** A command as a client sent it: its name in lower case, control and other odd bytes as MONITOR escapes them. */
export interface RecordedCommand {
  name: string;
  args: string[];
}

/**
 * The commands that clients sent during an action, in the server's order, without those that scripts called.
 *
 * Heartbeats are left out: they come when they are due. It sees every client of the server, so use a server of the spec's own. A client that connects during the
 * action is recorded with its handshake: connect it before.
 */
export async function recordCommands(
  url: string,
  action: () => Promise<unknown>,
): Promise<RecordedCommand[]> {
  const marker = new Redis(url, { retryStrategy: () => null });
  await marker.ping(); // Its handshake is over before the recording begins.
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
