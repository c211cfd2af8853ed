import { StoreFault } from '../../contracts/store-fault.js';
import { oneLine } from './reply-error.js';

/** Messages of ioredis about a missing connection that have no code. */
const NOT_CONNECTED =
  /^(Connection is closed|Stream isn't writeable|Cluster isn't ready|Cluster is ended|Connection is (in|un)|None of startup nodes|Failed to refresh slots|All sentinels|Socket |Command timed out|Protocol error|Unknown RESP|timeout|Client network socket)/i;
const CONNECTION_NAMES: readonly string[] = [
  'AbortError',
  'InterruptError',
  'ParserError',
  'MaxRetriesPerRequestError',
  'ClusterAllFailedError',
];

const TIMED_OUT = 'timed out';
const CLOSED = 'closed';
const NO_TLS = 'what it sent is not TLS';
const NO_REDIS = 'what it sent is not the protocol of Redis';
const NO_MASTER = 'no such master';
const NO_SENTINEL = 'no Sentinel can be reached';

/** Causes by the message of ioredis, which is preceded by its code if it has one. */
const CAUSES: readonly (readonly [pattern: RegExp, cause: string])[] = [
  [/^ETIMEDOUT|Socket timeout|^timeout|^Command timed out/, TIMED_OUT],
  [/^Unknown RESP|^Protocol error/, NO_REDIS],
  [/^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG)/, NO_TLS],
  [/No such master/, NO_MASTER],
  [/unknown command.*sentinel/i, 'the servers in `sentinels` are no Sentinels'],
  [/Last error: Connection is closed/, NO_SENTINEL],
  [/^None of startup nodes/, 'no node can be reached, or none serves slots'],
  [/^Connection is closed/, CLOSED],
];

const UNREACHABLE = 'check the host and port in `redis`, and firewalls';

/** Fixes of an address that has never led to a connection, by the cause. */
const FIXES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'no server listens there: start Redis, or correct the host and port in `redis`',
  ENOTFOUND: 'the name of the host is unknown: correct it in `redis`',
  EAI_AGAIN: 'the name of the host could not be resolved: check it in `redis`, and DNS',
  EHOSTUNREACH: UNREACHABLE,
  ENETUNREACH: UNREACHABLE,
  ENOENT: 'there is no such Unix socket: start Redis, or correct `path` in `redis`',
  EACCES: 'the process may not use the Unix socket: change its permissions, or correct `path` in `redis`',
  [TIMED_OUT]: UNREACHABLE,
  [NO_REDIS]: 'correct the port in `redis`',
  [NO_MASTER]: 'set `name` to one that the Sentinels monitor',
  [NO_SENTINEL]: 'check the hosts and ports in `sentinels`, and firewalls',
};

/** Whether an error of ioredis means that there is no connection. */
export function isAboutConnection(error: Error): boolean {
  const { code } = error as { code?: unknown };
  if (typeof code === 'string' && !code.startsWith('ERR_INVALID_ARG')) return true;
  return CONNECTION_NAMES.includes(error.name) || NOT_CONNECTED.test(error.message);
}

/** The state of a client without a connection. */
export interface ClientState {
  readonly isTls: boolean;
  /** Whether it was connected before. */
  readonly wasConnected: boolean;
}

/** @param clientState the state of the client, if it is known */
export function connectionFault(
  error: Error,
  redis: string,
  clientState?: ClientState,
  server = '',
): StoreFault {
  const { code = 'CONNECTION' } = error as { code?: string };
  const cause = causeOf(error);
  const hint = clientState && cause !== undefined ? hintFor(cause, clientState) : undefined;
  const message = `no connection to ${redis}${cause === undefined ? '' : ` (${cause})`}`;
  return new StoreFault('connection', code, hint ? `${message}; ${hint}` : message, { cause: error, server });
}

/** Returns the cause in words, the code of the system, or the message of TLS. */
function causeOf(error: Error): string | undefined {
  const { code } = error as { code?: unknown };
  const hasCode = typeof code === 'string';
  const text = hasCode ? `${code} ${error.message}` : error.message;
  const known = CAUSES.find(([pattern]) => pattern.test(text))?.[1];
  if (known !== undefined || !hasCode) return known;
  return /^E[A-Z_]+$/.test(code) && !code.startsWith('ERR_') ? code : oneLine(error.message);
}

/** Returns the fix of an address or of options that have never led to a connection. */
function hintFor(cause: string, { isTls, wasConnected }: ClientState): string | undefined {
  if (wasConnected) return undefined;
  const isCut = ['ECONNRESET', 'EPIPE', CLOSED].includes(cause);
  if (isTls && (isCut || cause === TIMED_OUT || cause === NO_TLS)) return 'does the server speak TLS?';
  if (isCut) return 'does the server expect TLS? Write rediss:// or tls: {}';
  return FIXES[cause];
}
