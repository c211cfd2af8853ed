import { StoreFault, type FaultKind } from '../../contracts/store-fault.js';
import { DeadlineError } from './deadline.js';
import { connectionFault, isAboutConnection, type ClientState } from './connection-fault.js';
import { databaseIn, hideLogin, isError, oneLine, type ReplyError } from './reply-error.js';

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
