import { StoreFault, type FaultKind } from '../../contracts/store-fault.js';
import { DeadlineError } from './deadline.js';

/** What a server is that answers so, whatever it was asked. */
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
  WRONGPASS: 'refuses the user name or the password',
  DENIED: 'runs in protected mode and refuses clients of other hosts',
};

const RIGHTS = 'see "Access" in docs/operations.md';

/** Inside of scripts, a word stands behind other text and a hyphen. */
const WORDS = new RegExp(
  `(?:^|-)(${[...Object.keys(STATES), ...Object.keys(REFUSALS), 'NOPERM'].join('|')})\\b`,
);
const NOT_PERMITTED = /can't run this command|can't access at least one of the keys/;
const WRONG_PASSWORD = /^ERR (invalid password|AUTH\b|Client sent AUTH)/;
const UNKNOWN_COMMAND = /(?:unknown|unsupported|unsupport) command(?: [`'"]?([\w|]+))?/i;
const MOVING = /^(Too many Cluster redirections\b|TRYAGAIN\b)/;
const MOVED = /^(MOVED|ASK|CROSSSLOT)\b/;

/** What ioredis says of a connection that is not there, where it gives no code. */
const NOT_CONNECTED =
  /^(Connection is closed|Stream isn't writeable|Cluster isn't ready|Cluster is ended|Connection is (in|un)|None of startup nodes|Failed to refresh slots|All sentinels|Socket |Command timed out|Protocol error|no connection|timeout|Client network socket)/i;
const CONNECTION_NAMES: readonly string[] = [
  'AbortError',
  'InterruptError',
  'ParserError',
  'MaxRetriesPerRequestError',
  'ClusterAllFailedError',
];

const LONGEST = 200;

/**
 * The fault behind an error: what kind it is of, and the cause in words, without what ioredis calls its parts
 * and without arguments of a command, which may be a password.
 *
 * @param server as in `redis.example.com:6379`
 */
export function faultOf(error: unknown, server: string): StoreFault {
  if (error instanceof StoreFault) return error;
  const redis = server === '' ? 'Redis' : `Redis at ${server}`;
  const fault = (kind: FaultKind, code: string, message: string): StoreFault =>
    new StoreFault(kind, code, message, { cause: error });
  if (error instanceof DeadlineError) return fault('timeout', 'TIMEOUT', `${redis}: ${error.message}`);
  if (!isError(error)) return fault('other', 'ERR', `${redis} failed: ${oneLine(String(error))}`);
  if (error.name === 'ReplyError') return faultOfReply(error, redis, fault);
  const { lastNodeError } = error as { lastNodeError?: unknown };
  if (isError(lastNodeError)) return faultOf(lastNodeError, server);
  if (MOVING.test(error.message)) return faultOfReply(error, redis, fault);
  return isAboutConnection(error)
    ? fault('connection', codeOf(error), `no connection to ${redis}${detailOf(error)}`)
    : fault('other', error.name, `${redis} failed: ${oneLine(error.message)}`);
}

/** By its shape, since an error may come from another realm. */
function isError(value: unknown): value is Error {
  return typeof value === 'object' && value !== null && 'message' in value && 'name' in value;
}

type Make = (kind: FaultKind, code: string, message: string) => StoreFault;

function faultOfReply({ message }: Error, redis: string, fault: Make): StoreFault {
  const word = NOT_PERMITTED.test(message) ? 'NOPERM' : WORDS.exec(message)?.[1];
  if (word && STATES[word]) return fault('state', word, `${redis} ${STATES[word]} (${word})`);
  if (word && REFUSALS[word]) return fault('access', word, `${redis} ${REFUSALS[word]} (${word})`);
  if (word) return fault('access', word, `${redis} does not permit ${needOf(message)} (${word}); ${RIGHTS}`);
  if (WRONG_PASSWORD.test(message)) {
    return fault('access', 'WRONGPASS', `${redis} ${REFUSALS['WRONGPASS']} (WRONGPASS)`);
  }
  const [isUnknown, command = 'that the limiter needs'] = UNKNOWN_COMMAND.exec(message) ?? [];
  if (isUnknown) {
    const code = 'UNKNOWN_COMMAND';
    return fault('access', code, `${redis} does not have the command ${command.toUpperCase()}; ${RIGHTS}`);
  }
  if (message.startsWith('ERR max number of clients')) {
    return fault('state', 'MAXCLIENTS', `${redis} accepts no more clients (maxclients)`);
  }
  if (MOVING.test(message)) {
    return fault('moving', 'TRYAGAIN', `${redis} is moving a slot, whose keys are on two servers (TRYAGAIN)`);
  }
  const moved = MOVED.exec(message)?.[1];
  if (moved) return fault('topology', moved, `${nodeOfCluster(redis)} (${moved})`);
  const code = /^-?([A-Z]{2,20})\b/.exec(message)?.[1] ?? 'ERR';
  return fault('other', code, `${redis} answered: ${oneLine(message)}`);
}

/** What is wrong about a client of one server whose keys are on several, and the fix. */
export function nodeOfCluster(redis: string): string {
  return `${redis} is one node of a Redis Cluster and does not serve all slots; give \`redis\` the URL of the node, or a Cluster of ioredis`;
}

function needOf(message: string): string {
  const command = /'([\w|]+)' command/.exec(message)?.[1];
  if (command) return `the command ${command.toUpperCase()}`;
  if (message.includes('channel')) return 'a channel that the limiter needs';
  return message.includes('key') ? 'the keys of the limiter' : 'a command that the limiter needs';
}

function isAboutConnection(error: Error): boolean {
  const { code } = error as { code?: unknown };
  if (typeof code === 'string' && !code.startsWith('ERR_INVALID_ARG')) return true;
  return CONNECTION_NAMES.includes(error.name) || NOT_CONNECTED.test(error.message);
}

function codeOf(error: Error): string {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : 'CONNECTION';
}

/** The cause of a lost connection: the system's code, or what TLS says. */
function detailOf(error: Error): string {
  const { code, message } = error as Error & { code?: unknown };
  if (typeof code === 'string') return /^E[A-Z]+$/.test(code) ? ` (${code})` : ` (${oneLine(message)})`;
  if (error.name === 'ParserError' || message.startsWith('Protocol error')) {
    return ' (what it sent is not the protocol of Redis)';
  }
  return message.includes('ETIMEDOUT') ? ' (ETIMEDOUT)' : '';
}

/** The first line of a message, without arguments of commands and where in a script it happened. */
function oneLine(message: string): string {
  const line = message.split('\n')[0]!.replace(/, with args beginning with.*/, '');
  const short = line.replace(/,? ?script: [0-9a-f]{40}.*/, '').trim();
  return short.length > LONGEST ? `${short.slice(0, LONGEST)}…` : short;
}

/** Whether it is pointless to ask the server for anything until it has recovered. */
export function opensAtOnce({ kind }: StoreFault): boolean {
  return kind === 'connection' || kind === 'access' || kind === 'state' || kind === 'topology';
}
