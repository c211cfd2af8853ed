import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';

/** A command in a script that changes stored data. */
export interface ScriptWrite {
  name: string;
  args: string[];
}

const READS = new Set(['mget', 'lindex', 'time']);

/**
 * Returns the writes of scripts during an action, in the server's order. It records all clients of the server, so use
 * a separate server.
 */
export async function recordScriptWrites(
  url: string,
  action: () => Promise<unknown>,
): Promise<ScriptWrite[]> {
  const marker = new Redis(url, { retryStrategy: () => null });
  const monitor = await marker.monitor();
  const writes: ScriptWrite[] = [];
  const token = randomUUID();
  const ended = new Promise<void>((resolve) => {
    monitor.on('monitor', (_time: string, [command = '', ...args]: string[], source: string) => {
      const name = command.toLowerCase();
      if (args[0] === token) resolve();
      else if (source === 'lua' && !READS.has(name)) writes.push({ name, args });
    });
  });
  try {
    await action();
    await marker.echo(token);
    await ended;
    return writes;
  } finally {
    marker.disconnect();
    monitor.disconnect();
  }
}
