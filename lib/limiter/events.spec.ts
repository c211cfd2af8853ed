import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { StoreFault } from '../contracts/store-fault.js';
import { RateLimitEvents } from './events.js';
import { ServerStates } from './server-state.js';

const MUTE = 'redis-1:6379';
const LOST = 'redis-2:6379';
const fault = (server: string) => new StoreFault('timeout', 'TIMEOUT', `no reply of ${server}`, { server });

describe('the servers that fail', () => {
  let events: RateLimitEvents;

  beforeEach(() => {
    jest.useFakeTimers();
    events = new RateLimitEvents();
    events.servers = new ServerStates();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  const open = (server: string) => events.storeChanged({ server, error: fault(server) });
  const close = (server: string) => events.storeChanged({ server, error: undefined });
  const failing = () => [...events.faults.keys()];

  it('are reported for ten seconds after a request that each could not decide', () => {
    events.storeFailed(fault(MUTE), 'decision');
    events.storeFailed(fault(LOST), 'refund');
    expect(failing()).toEqual([MUTE]);
    jest.advanceTimersByTime(10_000);
    expect(failing()).toEqual([]);
  });

  it('are not hidden by another one that has recovered', () => {
    events.storeFailed(fault(MUTE), 'decision');
    open(LOST);
    expect(failing()).toEqual([MUTE, LOST]);
    close(LOST);
    expect(failing()).toEqual([MUTE]);
    expect(events.openCircuits.size).toBe(0);
  });

  it('are reported while their circuit breaker opens and closes in turn', () => {
    for (let turn = 1; turn <= 3; turn += 1) {
      open(MUTE);
      jest.advanceTimersByTime(2000);
      close(MUTE);
      expect([events.isFlapping(MUTE), failing()]).toEqual(turn < 3 ? [false, []] : [true, [MUTE]]);
      jest.advanceTimersByTime(2000);
    }
    expect([events.isFlapping(MUTE), failing()]).toEqual([true, [MUTE]]);
    jest.advanceTimersByTime(8000);
    expect([events.isFlapping(MUTE), failing()]).toEqual([false, []]);
    open(MUTE);
    expect(events.isFlapping(MUTE)).toBe(false);
  });

  it('do not count as flapping while their circuit breaker stays open', () => {
    for (let turn = 1; turn <= 3; turn += 1) {
      open(MUTE);
      if (turn < 3) close(MUTE);
    }
    expect(events.isFlapping(MUTE)).toBe(true);
    jest.advanceTimersByTime(10_000);
    open(MUTE); // for another reason
    expect([events.isFlapping(MUTE), failing()]).toEqual([false, [MUTE]]);
  });
});

it('an error of a store of the user is the cause of the fault that is emitted', () => {
  const events = new RateLimitEvents();
  events.servers = new ServerStates();
  const emitted: unknown[] = [];
  events.on('storeError', ({ error }) => emitted.push(error));
  events.on('breaker', ({ error }) => emitted.push(error));
  const cause = new TypeError('no such table');
  events.storeFailed(cause, 'decision');
  events.storeChanged({ server: '', error: cause });
  const told = { name: 'StoreFault', kind: 'other', code: 'TypeError', message: 'no such table', cause };
  expect(emitted).toEqual([expect.objectContaining(told), expect.objectContaining(told)]);
  expect(emitted.every((error) => error instanceof StoreFault)).toBe(true);
});

describe('what a listener throws', () => {
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();
  const unreadable = Object.defineProperty(new Error('x'), 'stack', {
    get() {
      throw new Error('a getter');
    },
  });
  const thrown = [
    Object.assign(new Error('x'), { message: ['name must be a string'], stack: 5 }),
    Object.create(null) as object,
    revoked.proxy,
    unreadable,
    Symbol('x'),
  ];

  it('is a warning, whatever it is, and neither fails the operation nor is left unhandled', async () => {
    const warning = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const events = new RateLimitEvents();
    for (const error of thrown) {
      events.on('storeError', () => {
        throw error as Error;
      });
      events.on('storeError', () => Promise.reject(error as Error));
    }
    events.storeFailed(fault(MUTE), 'decision');
    await new Promise(setImmediate);
    expect(warning).toHaveBeenCalledTimes(2 * thrown.length);
    warning.mockRestore();
  });
});
