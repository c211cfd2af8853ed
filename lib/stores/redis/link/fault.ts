import { StoreFault, type FaultKind } from '../../../contracts/store-fault.js';
import type { ConnectionState } from './connection.js';
import { DeadlineError } from './deadline.js';
import { hideArguments, isError, oneLine, type ReplyError } from './reply-error.js';

const RIGHTS = 'see "Access" in docs/operations.md';

const NOT_OURS = 'holds a value that it did not write; reset the counter, or set another `prefix`';

export const ONE_NODE =
  ' is one node of a Redis Cluster and does not serve all slots; give `redis` the URL of the node, or a Cluster of ioredis';

/**
 * Error replies by their code: the kind of the fault, and what its message states of the server. The kind decides what
 * happens: `opensAtOnce` opens the circuit breaker; `moving` is repeated, and fails its request only; `key` fails its key;
 * `other` fails its key, and opens the breaker after three of them.
 */
const REPLIES: Readonly<Record<string, readonly [kind: FaultKind, text: string]>> = {
  LOADING: ['state', ' is loading its data'],
  BUSY: ['state', ' is busy with a script'],
  READONLY: ['state', ' is a read-only replica'],
  OOM: ['state', ' is out of memory'],
  MISCONF: ['state', ' cannot save to its disk and accepts no writes'],
  MASTERDOWN: ['state', ' has lost its master'],
  NOREPLICAS: ['state', ' has too few replicas to accept writes'],
  CLUSTERDOWN: ['state', ' belongs to a Cluster that is down'],
  UNKILLABLE: ['state', ' is busy with a script that cannot be stopped'],
  MAXCLIENTS: ['state', ' accepts no more clients'],
  NOAUTH: ['access', ' requires a password'],
  WRONGPASS: ['access', ' rejects the user name or the password'],
  DENIED: ['access', ' runs in protected mode and rejects clients of other hosts'],
  TRYAGAIN: ['moving', ' is moving a slot, whose keys are on two servers'],
  INVALID_STATE: ['key', `: a key of the limiter ${NOT_OURS}`],
  MOVED: ['topology', ONE_NODE],
  ASK: ['topology', ONE_NODE],
  CROSSSLOT: ['topology', ONE_NODE],
};

const UNKNOWN_COMMAND =
  /(?:unknown|unsupported|unsupport) (?:redis )?command(?! called)(?: [`'"]?([\w|]+))?|unknown redis command called/i;

const MOVING = /^(Too many Cluster redirections\b|TRYAGAIN\b)/;

/** The reply to a call for a slot without a server, in a Cluster that serves the others. */
const UNSERVED = 'CLUSTERDOWN Hash slot not served';

/** Replies without their code, in the order in which they are tried. */
const TEXTS: readonly (readonly [pattern: RegExp, code: string])[] = [
  [/^ERR (invalid password|AUTH\b|Client sent AUTH)/, 'WRONGPASS'],
  [UNKNOWN_COMMAND, 'UNKNOWN_COMMAND'],
  [/^ERR max number of clients/, 'MAXCLIENTS'],
  [MOVING, 'TRYAGAIN'],
  // Lua creates a key while its slot moves.
  [/non local key/, 'TRYAGAIN'],
  // Lua reads a state that the limiter has not written, or of another format.
  [/INVALID_STATE|bad argument #\d+ to 'unpack'/, 'INVALID_STATE'],
];

/** Within scripts, the code follows other text and a hyphen. */
const CODES = new RegExp(`(?:^|-)(${Object.keys(REPLIES).join('|')}|NOPERM)\\b`);

/** Messages within scripts: of Redis from 7.2 and Valkey, and of earlier versions. */
const NOT_PERMITTED = /ACL failure in script|can't run this command|can't access at least one of the keys/;

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
  about: { readonly key?: string; readonly clientState?: ConnectionState; readonly of?: string } = {},
): StoreFault {
  if (error instanceof StoreFault) return error;
  const redis = server === '' ? 'Redis' : `Redis at ${server}`;
  const fault = (kind: FaultKind, code: string, message: string): StoreFault =>
    new StoreFault(kind, code, message, { cause: error, server: about.of ?? '' });
  if (error instanceof DeadlineError) return fault('timeout', 'TIMEOUT', `${redis}: ${error.message}`);
  if (!isError(error)) return fault('other', 'ERR', `${redis} failed: ${oneLine(String(error))}`);
  hideArguments(error);
  if (/(^|-)WRONGTYPE/.test(error.message)) return fault('key', 'WRONGTYPE', ofAnotherType(redis, about.key));
  if (about.clientState?.isCluster && error.message.startsWith(UNSERVED)) {
    const text = `${redis} belongs to a Cluster in which no server has the slot of a key (CLUSTERDOWN)`;
    return fault('moving', 'CLUSTERDOWN', text);
  }
  if (error.name === 'ReplyError') return faultOfReply(error, redis, fault);
  const { lastNodeError } = error as { lastNodeError?: unknown };
  if (isError(lastNodeError)) return faultOf(lastNodeError, server, about);
  if (MOVING.test(error.message)) return faultOfReply(error, redis, fault);
  if (!isAboutConnection(error)) {
    return fault('other', error.name, `${redis} failed: ${oneLine(error.message)}`);
  }
  const { code = 'CONNECTION' } = error as { code?: string };
  return fault('connection', code, `no connection to ${redis}${reasonOf(error, about.clientState)}`);
}

type Make = (kind: FaultKind, code: string, message: string) => StoreFault;

function faultOfReply({ message, command }: ReplyError, redis: string, fault: Make): StoreFault {
  const word = NOT_PERMITTED.test(message) ? 'NOPERM' : CODES.exec(message)?.[1];
  if (!word && command?.name === 'select') {
    const database = String(command.args[0]);
    return fault('access', 'SELECT', `${redis} rejects database ${database}: ${oneLine(message)} (SELECT)`);
  }
  const code = word ?? TEXTS.find(([pattern]) => pattern.test(message))?.[1];
  if (code === 'NOPERM' || code === 'UNKNOWN_COMMAND') {
    const what = code === 'NOPERM' ? `permit ${needOf(message)} (NOPERM)` : `have ${missingIn(message)}`;
    return fault('access', code, `${redis} does not ${what}; ${RIGHTS}`);
  }
  if (code) {
    const [kind, text] = REPLIES[code]!;
    return fault(kind, code, `${redis}${text} (${code})`);
  }
  const first = /^-?([A-Z]{2,20})\b/.exec(message)?.[1] ?? 'ERR';
  return fault('other', first, `${redis} answered: ${oneLine(message)}`);
}

function ofAnotherType(redis: string, key: string | undefined): string {
  const [which, fix] =
    key === undefined ? ['a key of the limiter', ''] : [`the key "${key}"`, 'delete it, or '];
  return `${redis}: ${which} holds a value of another type (WRONGTYPE); ${fix}set another \`prefix\``;
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

function missingIn(message: string): string {
  const command = UNKNOWN_COMMAND.exec(message)?.[1]?.toUpperCase();
  return commandsNamed(message) ?? `the command ${command ?? 'that the limiter needs'}`;
}

/** Returns the commands that rights.lua appends to an error. */
function commandsNamed(message: string): string | undefined {
  const names = /\(([A-Z]+(?:, [A-Z]+)*)\)$/.exec(message)?.[1];
  return names && `the command${names.includes(',') ? 's' : ''} ${names}`;
}

/** Whether calls to the server are pointless until it has recovered. */
export function opensAtOnce({ kind }: StoreFault): boolean {
  return kind === 'connection' || kind === 'access' || kind === 'state' || kind === 'topology';
}

/** Messages of ioredis about a missing connection that have no code. */
const NOT_CONNECTED =
  /^(Connection is closed|Stream isn't writeable|Cluster isn't ready|Cluster is ended|Connection is (in|un)|None of startup nodes|Failed to refresh slots|All sentinels|Socket |Command timed out|Protocol error|Unknown RESP|timeout|Client network socket)/i;

const CONNECTION_NAME = /^(Abort|Interrupt|Parser|MaxRetriesPerRequest|ClusterAllFailed)Error$/;

const TIMED_OUT = 'timed out';
const NO_TLS = 'what it sent is not TLS';
const CLOSED = 'closed';
const UNREACHABLE = 'check the host and port in `redis`, and firewalls';

/**
 * Causes by the message of ioredis, which is preceded by its code if it has one, with the fix of an address that has never
 * led to a connection.
 */
const CAUSES: readonly (readonly [pattern: RegExp, cause: string, fix?: string])[] = [
  [/^ETIMEDOUT|Socket timeout|^timeout|^Command timed out/, TIMED_OUT, UNREACHABLE],
  [
    /^Unknown RESP|^Protocol error/,
    'what it sent is not the protocol of Redis',
    'correct the port in `redis`',
  ],
  [/^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG)/, NO_TLS],
  [/No such master/, 'no such master', 'set `name` to one that the Sentinels monitor'],
  [/unknown command.*sentinel/i, 'the servers in `sentinels` are no Sentinels'],
  [
    /Last error: Connection is closed/,
    'no Sentinel can be reached',
    'check the hosts and ports in `sentinels`, and firewalls',
  ],
  [/^None of startup nodes/, 'no node can be reached, or none serves slots'],
  [/^Connection is closed/, CLOSED],
];

/** The same fixes by the code of the system. */
const FIXES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'no server listens there: start Redis, or correct the host and port in `redis`',
  ENOTFOUND: 'the name of the host is unknown: correct it in `redis`',
  EAI_AGAIN: 'the name of the host could not be resolved: check it in `redis`, and DNS',
  EHOSTUNREACH: UNREACHABLE,
  ENETUNREACH: UNREACHABLE,
  ENOENT: 'there is no such Unix socket: start Redis, or correct `path` in `redis`',
  EACCES: 'the process may not use the Unix socket: change its permissions, or correct `path` in `redis`',
};

/** Whether an error of ioredis means that there is no connection. */
function isAboutConnection(error: Error): boolean {
  const { code } = error as { code?: unknown };
  if (typeof code === 'string' && !code.startsWith('ERR_INVALID_ARG')) return true;
  return CONNECTION_NAME.test(error.name) || NOT_CONNECTED.test(error.message);
}

/** Returns the cause in words, the code of the system, or the message of TLS; and the fix, if there was never a connection. */
function reasonOf(
  { code = '', message }: Error & { readonly code?: string },
  state?: ConnectionState,
): string {
  const text = code === '' ? message : `${code} ${message}`;
  const isSystem = /^E[A-Z_]+$/.test(code) && !code.startsWith('ERR_');
  const [, known, fix = FIXES[code]] = CAUSES.find(([pattern]) => pattern.test(text)) ?? [];
  const cause = known ?? (isSystem ? code : code === '' ? undefined : oneLine(message));
  if (cause === undefined) return '';
  const hint = state && !state.wasConnected ? (tlsHint(cause, state) ?? fix) : undefined;
  return hint === undefined ? ` (${cause})` : ` (${cause}); ${hint}`;
}

function tlsHint(cause: string, { isTls }: ConnectionState): string | undefined {
  const isCut = ['ECONNRESET', 'EPIPE', CLOSED].includes(cause);
  if (isTls && (isCut || cause === TIMED_OUT || cause === NO_TLS)) return 'does the server speak TLS?';
  return isCut ? 'is it a Redis, and does it expect TLS? Write rediss:// or tls: {} then' : undefined;
}
