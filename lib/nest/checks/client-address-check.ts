import type { HttpRequest } from '../../http/subject.js';
import type { AwaitedHeaders, Check, RouteLimit } from '../request/route-limit.js';
import { WITHOUT_CLIENT, type Exchange } from '../request/exchange.js';
import type { Warnings } from '../warnings.js';

/**
 * The proxies that the framework trusts: all of them, only the peer of the request, others than this peer, or
 * none. `'unknown'` if the framework does not determine the address of the request.
 */
type ProxyTrust = 'all' | 'peer' | 'not-this-peer' | 'off' | 'unknown';

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
function proxyTrust(request: HttpRequest): ProxyTrust {
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
    const setting =
      framework === 'fastify'
        ? (ofFastify(instance, 'fastify.options') as { trustProxy?: unknown }).trustProxy
        : (instance as { get(setting: string): unknown }).get('trust proxy fn');
    if (typeof setting !== 'function') return setting === true;
    return CHAIN.every((address) => (setting as TrustFunction)(address, MANY_HOPS) === true);
  } catch {
    return false;
  }
}

type TrustFunction = (address: string, hop: number) => unknown;

/** Returns what Fastify stores under one of its symbols. */
export function ofFastify(instance: unknown, name: string): unknown {
  const symbol = Object.getOwnPropertySymbols(instance).find(({ description }) => description === name);
  return symbol && (instance as Record<symbol, unknown>)[symbol];
}

/** If no proxy is trusted, the setting of Express is false, and requests of Fastify have no `ips`. */
function isOff({ app, raw, ips }: FrameworkRequest): boolean {
  if (typeof app?.get === 'function') return !app.get('trust proxy');
  return raw !== undefined && ips === undefined;
}

function addressBehindChain(request: HttpRequest): string | undefined {
  const socket = { remoteAddress: request.socket?.remoteAddress };
  const made = { headers: { 'x-forwarded-for': CHAIN.join(', ') }, socket, connection: socket };
  const own = Object.getOwnPropertyDescriptors({ ...made, raw: made });
  return (Object.create(request, own) as HttpRequest).ip;
}

/** After this many requests without a forwarding header, the check assumes that there is no proxy. */
const WITHOUT_HEADER = 10_000;

/** Headers with the client's address, as they are written. Express and Fastify read the first one only. */
const FORWARDING = ['X-Forwarded-For', 'Forwarded', 'X-Real-IP', 'CF-Connecting-IP'];

const NAMES = FORWARDING.map((name) => name.toLowerCase());

/** A list of trusted proxies is wrong if none of this many requests with a forwarding header came from one of them. */
const FROM_OTHERS = 100;

const LIST = "app.set('trust proxy', '10.0.0.0/8') on Express, trustProxy: '10.0.0.0/8' on Fastify";

export const TRUSTS_ALL =
  'The framework trusts every proxy, so a client chooses the IP that it is counted by with X-Forwarded-For. ' +
  `Trust only the addresses of your proxies: ${LIST}.`;

const TOGETHER =
  'Behind a proxy, all clients have its IP: they share one counter, and all are allowed if an allow list has it.';

const TRUSTS_NONE =
  `A request has X-Forwarded-For, but the framework trusts no proxy. ${TOGETHER} ` +
  `Trust the addresses of your proxies: ${LIST}.`;

const notRead = (name: string): string =>
  `A request has ${name}, which neither Express nor Fastify reads, and no X-Forwarded-For. ${TOGETHER} ` +
  `Let the proxy send X-Forwarded-For, and trust its address: ${LIST}.`;

const TRUSTS_OTHERS =
  `${FROM_OTHERS} requests had X-Forwarded-For or Forwarded or X-Real-IP or CF-Connecting-IP, and the framework used it for none, since none came ` +
  'from a proxy that it trusts, or had X-Forwarded-For, the only one that Express and Fastify read. Clients behind ' +
  `one proxy share one counter. Trust the addresses of your proxies: ${LIST}.`;

/** Distinguishes the warning about sockets from that about HTTP, which has another fix. Both may be logged. */
const SOCKETS = 'sockets';

/** Detects client addresses that are a proxy's, forged by a client, or missing. */
export class ClientAddressCheck implements Check {
  /** Absent until the first request, and when the check is finished. */
  awaited: AwaitedHeaders | undefined;
  private isDecided: boolean;
  private ignored = 0;
  private isDecidedForSockets: boolean;
  private handshakes = 0;

  constructor(private readonly warnings: Warnings) {
    this.isDecided =
      !warnings.isPending('RL_FORWARDED_UNTRUSTED') && !warnings.isPending('RL_TRUST_PROXY_ALL');
    this.isDecidedForSockets = !warnings.isPending('RL_FORWARDED_UNTRUSTED', SOCKETS);
  }

  see({ request }: Exchange, { path, parts }: RouteLimit): boolean {
    if (request === WITHOUT_CLIENT) return this.seeMessage(path);
    if (parts.addressHeaders.length > 0) return true; // HeaderCheck sees these.
    // The handshake of a WebSocket or a subscription: the framework does not determine the client's address there.
    if (!('ip' in request) && request.socket !== undefined) return this.seeHandshake(request);
    if (this.isDecided) return true;
    const { headers } = request;
    const header = FORWARDING.find((_, index) => headers?.[NAMES[index]!] !== undefined);
    const { awaited } = this;
    if (!awaited || header !== undefined) {
      this.isDecided = this.judge(request, header);
      this.awaited = this.isDecided ? undefined : { names: NAMES, patience: WITHOUT_HEADER };
      return this.isDecided;
    }
    awaited.patience -= 1;
    return (this.isDecided = awaited.patience <= 0);
  }

  /** Warns if the framework trusts the wrong proxies. Returns whether the request has shown which ones it trusts. */
  private judge(request: HttpRequest, header: string | undefined): boolean {
    const trust = proxyTrust(request);
    if (trust === 'unknown') return false;
    if (trust === 'all') {
      this.warnings.warn('RL_TRUST_PROXY_ALL', TRUSTS_ALL);
      return true;
    }
    if (header === undefined) return false;
    const isForwarded = header === FORWARDING[0];
    if (isForwarded && trust === 'peer') return true;
    this.ignored += 1;
    const ofOne = isForwarded ? TRUSTS_NONE : notRead(header);
    if (trust === 'off') this.warnings.warn('RL_FORWARDED_UNTRUSTED', ofOne);
    else if (this.ignored >= FROM_OTHERS) this.warnings.warn('RL_FORWARDED_UNTRUSTED', TRUSTS_OTHERS);
    else return false;
    return true;
  }

  private seeHandshake({ headers }: HttpRequest): boolean {
    if (this.isDecidedForSockets) return true;
    this.handshakes += 1;
    const isForwarded = headers?.['x-forwarded-for'] !== undefined || headers?.['forwarded'] !== undefined;
    if (isForwarded) {
      import('../rare-messages.js')
        .then(({ PEER_ONLY }) => this.warnings.warn('RL_FORWARDED_UNTRUSTED', PEER_ONLY, SOCKETS))
        .catch(() => undefined);
    }
    return (this.isDecidedForSockets = isForwarded || this.handshakes >= WITHOUT_HEADER);
  }

  /** Warns at the first message, since all messages of a handler have the same transport. */
  private seeMessage(path: string): boolean {
    this.warnings.warn(
      'RL_CALLERS_TOGETHER',
      `${path} counts by IP, and the transport of its handler has no client addresses, so all callers share ` +
        "one counter. Set by: 'everyone' if that is meant, or a function that finds the subject in the message.",
    );
    return true;
  }
}
