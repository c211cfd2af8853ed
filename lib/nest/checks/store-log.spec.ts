import { Logger } from '@nestjs/common';
import { afterAll, beforeEach, expect, it } from '@jest/globals';
import { LogLines } from '../../../test/support/log-lines.js';
import { StoreFault, type FaultKind } from '../../contracts/store-fault.js';
import type { StoreChange } from '../../contracts/store.js';
import { RateLimitEvents } from '../../limiter/events.js';
import { logStore } from './store-log.js';

const logs = new LogLines();
const fault = (kind: FaultKind, code: string) => new StoreFault(kind, code, `Redis: ${code}`);
let report: (change: StoreChange) => void;

beforeEach(() => {
  Logger.overrideLogger(logs);
  logs.lines.length = 0;
  const store = { watch: (listener: typeof report) => (report = listener) };
  logStore(store, new RateLimitEvents(), () => 'requests are allowed');
});
afterAll(() => Logger.overrideLogger(new Logger()));

/** The level of each line that the causes of one outage make, and of its end. */
function levelsFor(causes: readonly StoreFault[], server = '') {
  const before = logs.lines.length;
  for (const error of causes) report({ server, error });
  report({ server, error: undefined });
  return logs
    .ours()
    .slice(before)
    .map(({ level }) => level);
}

it('a server that fails to answer in many ways, in turn, is logged once', () => {
  const away = [
    fault('timeout', 'TIMEOUT'),
    fault('connection', 'ECONNRESET'),
    fault('connection', 'ETIMEDOUT'),
  ];
  expect(levelsFor([...away, ...away, ...away])).toEqual(['warn', 'log']);
});

it('another kind of cause has a line of its own, once in each outage', () => {
  const causes = [
    fault('connection', 'ECONNREFUSED'),
    fault('state', 'LOADING'),
    fault('connection', 'ECONNRESET'),
  ];
  expect(levelsFor([...causes, ...causes])).toEqual(['warn', 'warn', 'log']);
  expect(levelsFor([...causes, ...causes])).toEqual(['warn', 'warn', 'log']);
});

it('each right that the user lacks is an error, whatever the outage began by', () => {
  const causes = [
    fault('timeout', 'TIMEOUT'),
    fault('access', 'SET'),
    fault('access', 'GET'),
    fault('access', 'SET'),
  ];
  expect(levelsFor(causes)).toEqual(['warn', 'error', 'error', 'log']);
});

it('each server of a Cluster has lines of its own', () => {
  report({ server: 'a:1', error: fault('connection', 'ECONNREFUSED') });
  expect(levelsFor([fault('connection', 'ECONNREFUSED')], 'b:1')).toEqual(['warn', 'log']);
});
