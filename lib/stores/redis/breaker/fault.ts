import { StoreFault, type FaultKind } from '../../../contracts/store-fault.js';
import { DeadlineError } from './deadline.js';
import { databaseIn, hideLogin, isError, oneLine, type ReplyError } from '../wire/reply.js';

/** States of a server in which it rejects every command, by the first word of the error reply. */
const STATES: Readonly<Record<string, string>> = {
  LOADING: 'is loading its data',
  BUSY: 'is busy with a script',
  READONLY: 'is a read-only replica',
  OOM: 'is out of memory',
  MISCONF: 'cannot save to its disk and accepts no writes',
  MASTERDOWN: 'has lost its master',
  NOREPLICAS: 'has too few replicas to accept writes',
  CLUSTERDOWN: 'belongs to a Cluster that is down',
  UNKILLABLE: 'is busy with a script that cannot be stopped',
};

const REFUSALS: Readonly<Record<string, string>> = {
  NOAUTH: 'requires a password',
  WRONGPASS: 'rejects the user name or the password',
  DENIED: 'runs in protected mode and rejects clients of other hosts',
};

const RIGHTS = 'see "Access" in docs/operations.md';

/** Within scripts, the word follows other text and a hyphen. */
const WORDS = new RegExp(
  `(?:^|-)(${[...Object.keys(STATES), ...Object.keys(REFUSALS), 'NOPERM'].join('|')})\\b`,
);

/** Messages within scripts: of Redis from 7.2 and Valkey, and of earlier versions. */
const NOT_PERMITTED = /ACL failure in script|can't run this command|can't access at least one of the keys/;

const WRONG_PASSWORD = /^ERR (invalid password|AUTH\b|Client sent AUTH)/;

const UNKNOWN_COMMAND =
  /(?:unknown|unsupported|unsupport) (?:redis )?command(?! called)(?: [`'"]?([\w|]+))?|unknown redis command called/i;

/** Lua reads a state that the limiter has not written, or of another format. */
const NOT_OURS = /INVALID_STATE|bad argument #\d+ to 'unpack'/;

const MOVING = /^(Too many Cluster redirections\b|TRYAGAIN\b)/;

const MOVED = /^(MOVED|ASK|CROSSSLOT)\b/;

/**
 * Returns the fault for an error: its kind, and the cause in words, without the internal terms of ioredis and without
 * arguments of a command, which may be a password.
 *
 * @param server an address such as `redis.example.com:6379`
 * @param about.key the key that the error concerns, if messages may contain it: one without a subject
 * @param about.clientState the state of a client without a connection
 * @param about.of the address of the server that identifies its circuit breaker
 */
export function faultOf(
  error: unknown,
  server: string,
  about: { readonly key?: string; readonly clientState?: ClientState; readonly of?: string } = {},
): StoreFault {
  if (error instanceof StoreFault) return error;
  const redis = server === '' ? 'Redis' : `Redis at ${server}`;
  const fault = (kind: FaultKind, code: string, message: string): StoreFault =>
    new StoreFault(kind, code, message, { cause: error, server: about.of ?? '' });
  if (error instanceof DeadlineError) return fault('timeout', 'TIMEOUT', `${redis}: ${error.message}`);
  if (!isError(error)) return fault('other', 'ERR', `${redis} failed: ${oneLine(String(error))}`);
  hideLogin(error);
  if (/(^|-)WRONGTYPE/.test(error.message)) return fault('key', 'WRONGTYPE', ofAnotherType(redis, about.key));
  if (error.name === 'ReplyError') return faultOfReply(error, redis, fault);
  const { lastNodeError } = error as { lastNodeError?: unknown };
  if (isError(lastNodeError)) return faultOf(lastNodeError, server, about);
  if (MOVING.test(error.message)) return faultOfReply(error, redis, fault);
  return isAboutConnection(error)
    ? connectionFault(error, redis, about.clientState, about.of)
    : fault('other', error.name, `${redis} failed: ${oneLine(error.message)}`);
}

type Make = (kind: FaultKind, code: string, message: string) => StoreFault;

function faultOfReply({ message, command: failed }: ReplyError, redis: string, fault: Make): StoreFault {
  const word = NOT_PERMITTED.test(message) ? 'NOPERM' : WORDS.exec(message)?.[1];
  if (word && STATES[word]) return fault('state', word, `${redis} ${STATES[word]} (${word})`);
  if (word && REFUSALS[word]) return fault('access', word, `${redis} ${REFUSALS[word]} (${word})`);
  if (word) return fault('access', word, `${redis} does not permit ${needOf(message)} (${word}); ${RIGHTS}`);
  const database = databaseIn(failed);
  if (database !== undefined) {
    return fault('access', 'SELECT', `${redis} rejects database ${database}: ${oneLine(message)} (SELECT)`);
  }
  if (WRONG_PASSWORD.test(message)) {
    return fault('access', 'WRONGPASS', `${redis} ${REFUSALS['WRONGPASS']} (WRONGPASS)`);
  }
  const [isUnknown, command] = UNKNOWN_COMMAND.exec(message) ?? [];
  if (isUnknown) {
    const what =
      commandsNamed(message) ?? `the command ${command?.toUpperCase() ?? 'that the limiter needs'}`;
    return fault('access', 'UNKNOWN_COMMAND', `${redis} does not have ${what}; ${RIGHTS}`);
  }
  if (message.startsWith('ERR max number of clients')) {
    return fault('state', 'MAXCLIENTS', `${redis} accepts no more clients (maxclients)`);
  }
  if (MOVING.test(message)) {
    return fault('moving', 'TRYAGAIN', `${redis} is moving a slot, whose keys are on two servers (TRYAGAIN)`);
  }
  if (NOT_OURS.test(message)) {
    const what =
      'a key of the limiter holds a value that it did not write; reset the counter, or set another `prefix`';
    return fault('key', 'INVALID_STATE', `${redis}: ${what} (INVALID_STATE)`);
  }
  const moved = MOVED.exec(message)?.[1];
  if (moved) return fault('topology', moved, `${nodeOfCluster(redis)} (${moved})`);
  const code = /^-?([A-Z]{2,20})\b/.exec(message)?.[1] ?? 'ERR';
  return fault('other', code, `${redis} answered: ${oneLine(message)}`);
}

function ofAnotherType(redis: string, key: string | undefined): string {
  const [which, fix] =
    key === undefined ? ['a key of the limiter', ''] : [`the key "${key}"`, 'delete it, or '];
  return `${redis}: ${which} holds a value of another type (WRONGTYPE); ${fix}set another \`prefix\``;
}

/** Returns what is wrong with a client of one node of a Redis Cluster, and the fix. */
export function nodeOfCluster(redis: string): string {
  return `${redis} is one node of a Redis Cluster and does not serve all slots; give \`redis\` the URL of the node, or a Cluster of ioredis`;
}

function needOf(message: string): string {
  if (message.includes('channel')) return 'a channel that the limiter needs';
  if (/\bkeys?\b/.test(message)) return 'the keys of the limiter';
  const command = /'([\w|]+)' command/.exec(message)?.[1];
  return (
    commandsNamed(message) ??
    (command ? `the command ${command.toUpperCase()}` : 'a command that the limiter needs')
  );
}

/** Returns the commands that rights.lua appends to an error. */
function commandsNamed(message: string): string | undefined {
  const names = /\(([A-Z]+(?:, [A-Z]+)*)\)$/.exec(message)?.[1];
  if (names === undefined) return undefined;
  return names.includes(',') ? `the commands ${names}` : `the command ${names}`;
}

/** Whether calls to the server are pointless until it has recovered. */
export function opensAtOnce({ kind }: StoreFault): boolean {
  return kind === 'connection' || kind === 'access' || kind === 'state' || kind === 'topology';
}

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
function isAboutConnection(error: Error): boolean {
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
function connectionFault(error: Error, redis: string, clientState?: ClientState, server = ''): StoreFault {
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
