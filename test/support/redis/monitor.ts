import { connect } from 'node:net';
import { createInterface } from 'node:readline';

/** A command as MONITOR prints it: control characters and other unusual bytes of its arguments are escaped. */
export interface MonitoredCommand {
  /** In lower case. */
  name: string;
  args: string[];
  /** Whether a script ran it. */
  inScript: boolean;
}

const LINE = /^\+\d+\.\d+ \[\d+ ([^\]]+)\] "(.*)"$/;

/**
 * Reports every command that a server receives from now on, until the returned function is called.
 *
 * It reads the connection itself: ioredis' `monitor()` rejects if the line of another client's command arrives together
 * with the reply to MONITOR.
 */
export async function monitorCommands(
  url: string,
  onCommand: (command: MonitoredCommand) => void,
): Promise<() => void> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const lines = createInterface({ input: socket });
  await new Promise<void>((resolve, reject) => {
    socket.on('error', reject);
    lines.on('line', (line) => {
      if (line === '+OK') {
        resolve();
        return;
      }
      const [, source, text = ''] = LINE.exec(line) ?? [];
      if (source === undefined) {
        reject(new Error(`MONITOR replied ${line}`));
        return;
      }
      const [name = '', ...args] = text.split('" "').map((part) => part.replaceAll('\\"', '"'));
      onCommand({ name: name.toLowerCase(), args, inScript: source === 'lua' });
    });
    socket.write('MONITOR\r\n');
  });
  return () => socket.destroy();
}
