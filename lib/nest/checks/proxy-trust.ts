import type { HttpRequest } from '../../http/subject.js';

/**
 * The proxies that the framework trusts: all of them, only the peer of the request, others than this peer, or
 * none. `'unknown'` if the framework does not determine the address of the request.
 */
export type ProxyTrust = 'all' | 'peer' | 'not-this-peer' | 'off' | 'unknown';

/** Public addresses in several networks, the client first: a framework that trusts all of them trusts every proxy. */
const CHAIN = ['192.0.2.1', '8.8.8.8', '203.0.113.9', '1.1.1.1', '198.51.100.7', '100.20.30.40'];

/** More hops than any chain of proxies has. */
const MANY_HOPS = 1000;

interface FrameworkRequest extends HttpRequest {
  /** Express. */
  readonly app?: { get?(setting: string): unknown };
  /** Fastify. */
  readonly raw?: unknown;
  readonly ips?: unknown;
}

/**
 * Returns which proxies the framework trusts: reads `ip` of a copy of the request that has a made-up chain of proxies.
 * This works for every form of the setting, including functions.
 */
export function proxyTrust(request: HttpRequest): ProxyTrust {
  try {
    if (Object.hasOwn(request, 'ip') || !('ip' in request)) return 'unknown';
    if (isOff(request)) return 'off';
    const ip = addressBehindChain(request);
    if (ip === CHAIN[0]) return 'all';
    return ip !== undefined && CHAIN.includes(ip) ? 'peer' : 'not-this-peer';
  } catch {
    return 'unknown';
  }
}

/** Whether the framework trusts every proxy, as far as its settings show before the first request. */
export function trustsEveryProxy(framework: string, instance: unknown): boolean {
  try {
    const setting = framework === 'fastify' ? fastifyTrust(instance) : expressTrust(instance);
    if (typeof setting !== 'function') return setting === true;
    return CHAIN.every((address) => (setting as TrustFunction)(address, MANY_HOPS) === true);
  } catch {
    return false;
  }
}

type TrustFunction = (address: string, hop: number) => unknown;

function expressTrust(instance: unknown): unknown {
  return (instance as { get(setting: string): unknown }).get('trust proxy fn');
}

/** Fastify stores its options under a symbol. */
function fastifyTrust(instance: unknown): unknown {
  const symbol = Object.getOwnPropertySymbols(instance).find(
    ({ description }) => description === 'fastify.options',
  );
  return symbol && (instance as Record<symbol, { trustProxy?: unknown } | undefined>)[symbol]?.trustProxy;
}

/** If no proxy is trusted, the setting of Express is false, and requests of Fastify have no `ips`. */
function isOff({ app, raw, ips }: FrameworkRequest): boolean {
  if (typeof app?.get === 'function') return !app.get('trust proxy');
  return raw !== undefined && ips === undefined;
}

function addressBehindChain(request: HttpRequest): string | undefined {
  const socket = { remoteAddress: request.socket?.remoteAddress };
  const made = { headers: { 'x-forwarded-for': CHAIN.join(', ') }, socket, connection: socket };
  const own = Object.fromEntries(
    Object.entries({ ...made, raw: made }).map(([name, value]) => [name, { value }]),
  );
  return (Object.create(request, own) as HttpRequest).ip;
}
