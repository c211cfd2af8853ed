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
const NO_MASTER = 'no such master';

/** Causes by the message of ioredis, which is preceded by its code if it has one. */
const CAUSES: readonly (readonly [pattern: RegExp, cause: string])[] = [
  [/^ETIMEDOUT|Socket timeout|^timeout|^Command timed out/, TIMED_OUT],
  [/^Unknown RESP|^Protocol error/, 'what it sent is not the protocol of Redis'],
  [/^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG)/, NO_TLS],
  [/No such master/, NO_MASTER],
  [/unknown command.*sentinel/i, 'the servers in `sentinels` are no Sentinels'],
  [/Last error: Connection is closed/, 'no Sentinel can be reached'],
  [/^None of startup nodes/, 'no node can be reached, or none serves slots'],
  [/^Connection is closed/, CLOSED],
];

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
  return /^E[A-Z]+$/.test(code) ? code : oneLine(error.message);
}

/** Returns what may be wrong with a URL that has never led to a connection. */
function hintFor(cause: string, { isTls, wasConnected }: ClientState): string | undefined {
  if (wasConnected) return undefined;
  if (cause === NO_MASTER) return 'set `name` to one that the Sentinels monitor';
  const isCut = ['ECONNRESET', 'EPIPE', CLOSED].includes(cause);
  if (!isTls) return isCut ? 'does the server expect TLS? Write rediss:// or tls: {}' : undefined;
  return isCut || cause === TIMED_OUT || cause === NO_TLS ? 'does the server speak TLS?' : undefined;
}
