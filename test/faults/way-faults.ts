import type { Proxy } from '../support/redis/proxy.js';
import type { ProxyConnection } from '../support/redis/proxy-connection.js';
import { until } from '../support/redis/until.mjs';
import type { ServerFault } from './fault.js';
import { scaled } from './scale.js';

const RESETS = scaled(1000, 100);
const GARBAGE = Buffer.from([0xff, 0x00, 0x17, 0x80, 0x0d, 0x0a, 0xfe, 0x0d, 0x0a]);

/** Faults of the connection to the server. */
export const wayFaults: readonly ServerFault[] = [
  { ...slower(5), deciding: 'redis', breaker: 'any' },
  { ...slower(45), deciding: 'either', breaker: 'any' },
  { ...slower(500), deciding: 'fallback', breaker: 'once' },
  {
    ...disturbed('connection closed after the script, before the reply', (connection) =>
      connection.cutNextReply(0),
    ),
    deciding: 'fallback',
    breaker: 'once',
  },
  {
    ...disturbed('connection closed within the reply', (connection) => connection.cutNextReply(7)),
    deciding: 'fallback',
    breaker: 'once',
  },
  {
    ...disturbed('garbage', (connection) => connection.inject(GARBAGE)),
    deciding: 'fallback',
    breaker: 'once',
  },
  {
    ...disturbed('black hole: every packet is lost, no connection is closed', (connection) =>
      connection.lose(),
    ),
    deciding: 'fallback',
    breaker: 'once',
  },
  {
    name: `${RESETS} connection resets`,
    deciding: 'either',
    breaker: 'any',
    isProxied: true,
    make: async () => undefined,
    goOn: ({ proxy }) => resetOften(proxy, RESETS),
    heal: async () => undefined,
  },
];

type Way = Omit<ServerFault, 'deciding' | 'breaker'>;

function slower(milliseconds: number): Way {
  return {
    name: `replies ${milliseconds} ms later`,
    isProxied: true,
    make: async ({ proxy }) => proxy.each((connection) => connection.delay(milliseconds)),
    heal: async ({ proxy }) => proxy.each((connection) => connection.delay(0)),
  };
}

/** Disturbs every connection, and each one that replaces it. */
function disturbed(name: string, disturb: (connection: ProxyConnection) => void): Way {
  return {
    name,
    isProxied: true,
    make: async ({ proxy }) => proxy.each(disturb),
    heal: async ({ proxy }) => proxy.each(() => undefined),
  };
}

async function resetOften(proxy: Proxy, times: number): Promise<void> {
  for (let done = 0; done < times;) {
    const { connections } = proxy;
    for (const connection of connections) connection.reset();
    done += connections.length;
    const areNew = (): boolean =>
      proxy.connections.length > 0 && !connections.some((each) => proxy.connections.includes(each));
    await until(areNew, 'the application to connect again');
  }
}
