import { Logger } from '@nestjs/common';
import { afterAll, beforeEach, expect, it, jest } from '@jest/globals';
import { LogLines } from '../../../test/support/log-lines.js';
import { StoreFault, type FaultKind } from '../../contracts/store-fault.js';
import type { StoreChange } from '../../contracts/base-store.js';
import { RateLimitEvents } from '../../limiter/events.js';
import { ServerStates } from '../../limiter/server-state.js';
import { Warnings } from '../warnings.js';
import { logStore } from './store-log.js';

const logs = new LogLines();
const fault = (kind: FaultKind, code: string) => new StoreFault(kind, code, `Redis: ${code}`);
let listener: (change: StoreChange) => void;
let events: RateLimitEvents;
let ending: AbortController;
let warnings: Warnings;
/** The limiter records each change before it is logged. */
const report = (change: StoreChange): void => {
  events.storeChanged(change);
  listener(change);
};

beforeEach(() => {
  Logger.overrideLogger(logs);
  logs.lines.length = 0;
  const watch = (follow: typeof listener): (() => void) => {
    listener = follow;
    return () => undefined;
  };
  events = new RateLimitEvents();
  events.servers = new ServerStates();
  warnings = new Warnings({ warnings: false });
  ending = new AbortController();
  logStore({ watch }, { events, engine: { ending } }, () => 'requests are allowed', warnings);
});
afterAll(() => Logger.overrideLogger(new Logger()));

/** Returns the level of each line that is logged for the causes of one outage and for its end. */
function levelsFor(causes: readonly StoreFault[], server = '') {
  const before = logs.lines.length;
  for (const error of causes) report({ server, error });
  report({ server, error: undefined });
  return logs
    .ours()
    .slice(before)
    .map(({ level }) => level);
}

it('a server that fails with several errors in turn is logged once', () => {
  const away = [
    fault('timeout', 'TIMEOUT'),
    fault('connection', 'ECONNRESET'),
    fault('connection', 'ETIMEDOUT'),
  ];
  expect(levelsFor([...away, ...away, ...away])).toEqual(['warn', 'log']);
});

it('an outage is an active warning until all servers decide again, also without warnings of the setup', () => {
  report({ server: 'a:1', error: fault('connection', 'ECONNREFUSED') });
  report({ server: 'a:1', error: fault('access', 'SET') });
  report({ server: 'b:1', error: fault('connection', 'ECONNREFUSED') });
  report({ server: 'a:1', error: undefined });
  report({ server: 'c:1', error: fault('state', 'LOADING') });
  report({ server: 'c:1', error: undefined });
  expect([...warnings.active]).toEqual([
    ['RL_REDIS_UNAVAILABLE', expect.stringContaining('Redis could not decide (Redis: ECONNREFUSED); until')],
  ]);
  report({ server: 'b:1', error: undefined });
  expect(warnings.active.size).toBe(0);
});

it('another kind of cause is logged separately, once in each outage', () => {
  const causes = [
    fault('connection', 'ECONNREFUSED'),
    fault('state', 'LOADING'),
    fault('connection', 'ECONNRESET'),
  ];
  expect(levelsFor([...causes, ...causes])).toEqual(['warn', 'warn', 'log']);
  expect(levelsFor([...causes, ...causes])).toEqual(['warn', 'warn', 'log']);
});

it('each right that the user lacks is logged as an error, whatever the first cause of the outage', () => {
  const causes = [
    fault('timeout', 'TIMEOUT'),
    fault('access', 'SET'),
    fault('access', 'GET'),
    fault('access', 'SET'),
  ];
  expect(levelsFor(causes)).toEqual(['warn', 'error', 'error', 'log']);
});

it('a server that an application has never seen fail does not decide again: its outage began before the start', () => {
  report({ server: 'a:1', error: undefined });
  expect(logs.ours()).toEqual([]);
  expect(levelsFor([fault('timeout', 'TIMEOUT')], 'a:1')).toEqual(['warn', 'log']);
  report({ server: 'a:1', error: undefined });
  expect(logs.ours()).toHaveLength(2);
});

it('a server does not decide again in the log if its outage was not logged', () => {
  warnings = new Warnings({ warnings: { RL_REDIS_UNAVAILABLE: false } });
  logStore(
    { watch: (follow) => ((listener = follow), () => undefined) },
    { events, engine: { ending } },
    () => 'x',
    warnings,
  );
  expect(levelsFor([fault('timeout', 'TIMEOUT')])).toEqual([]);
});

it('each server of a Cluster is logged separately', () => {
  report({ server: 'a:1', error: fault('connection', 'ECONNREFUSED') });
  expect(levelsFor([fault('connection', 'ECONNREFUSED')], 'b:1')).toEqual(['warn', 'log']);
});

it('what an operator has to fix is logged of a server that decides and fails in turn as well', () => {
  jest.useFakeTimers();
  for (let turn = 0; turn < 3; turn += 1) {
    report({ server: '', error: fault('connection', 'ECONNREFUSED') });
    report({ server: '', error: undefined });
  }
  report({ server: '', error: fault('connection', 'ECONNRESET') });
  report({ server: '', error: fault('access', 'NOAUTH') });
  expect(logs.ours().slice(4)).toEqual([
    { level: 'warn', message: expect.stringContaining('it decides and fails in turn') },
    { level: 'error', message: expect.stringContaining('Redis could not decide (Redis: NOAUTH); until') },
  ]);
  expect(warnings.active.get('RL_REDIS_UNAVAILABLE')).toContain('NOAUTH');
  report({ server: '', error: undefined });
  expect(warnings.active.size).toBe(1);
  jest.advanceTimersByTime(10_000);
  jest.useRealTimers();
  expect(warnings.active.size).toBe(0);
  expect(logs.ours().slice(6)).toEqual([{ level: 'log', message: 'Redis decides again.' }]);
});

it('an error of a server is logged while another one cannot decide', () => {
  report({ server: 'a:1', error: fault('connection', 'ECONNREFUSED') });
  const errorOf = (server: string): StoreFault =>
    new StoreFault('key', 'WRONGTYPE', `Redis at ${server}: WRONGTYPE`, { server });
  events.storeFailed(errorOf('a:1'), 'decision');
  expect(logs.ours()).toHaveLength(1);
  events.storeFailed(errorOf('b:1'), 'decision');
  expect(logs.ours()[1]!.message).toContain('Redis could not decide a request (Redis at b:1: WRONGTYPE)');
});

it('a server that decides and fails in turn is logged once as such, and again after it has decided for a while', () => {
  jest.useFakeTimers();
  for (let turn = 0; turn < 20; turn += 1) {
    report({ server: 'a:1', error: fault('timeout', 'TIMEOUT') });
    jest.advanceTimersByTime(1500);
    report({ server: 'a:1', error: undefined });
    jest.advanceTimersByTime(1500);
  }
  jest.advanceTimersByTime(20_000);
  jest.useRealTimers();
  const again = 'Redis decides again for the keys of a:1.';
  expect(logs.ours().map(({ message }) => message)).toEqual([
    ...[1, 2].flatMap(() => [expect.stringContaining('could not decide'), again]),
    'Redis could not decide (Redis: TIMEOUT; it decides and fails in turn: changes are logged again when it has decided for 10 seconds); until it does, requests are allowed. (RL_REDIS_UNAVAILABLE, see docs/warnings.md)',
    again,
  ]);
});

it('a recovery after the limiter was closed is not logged', () => {
  jest.useFakeTimers();
  for (let turn = 0; turn < 4; turn += 1) {
    report({ server: '', error: fault('timeout', 'TIMEOUT') });
    report({ server: '', error: undefined });
  }
  const { length } = logs.ours();
  ending.abort();
  jest.advanceTimersByTime(20_000);
  jest.useRealTimers();
  expect(logs.ours()).toHaveLength(length);
});
