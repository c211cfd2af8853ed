import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Circuit } from './circuit.js';

const LOST = new Error('connection lost');
const MUTE = new Error('no answer');

describe('a circuit', () => {
  let changes: unknown[];
  let circuit: Circuit;
  let probes: number[];
  let isDead: boolean;

  const probe = async () => {
    probes.push(Date.now());
    if (isDead) throw LOST;
  };
  const fail = (error: Error = MUTE, atOnce = false) => circuit.failed(error, probe, atOnce);
  const pass = (milliseconds: number) => jest.advanceTimersByTimeAsync(milliseconds);

  beforeEach(() => {
    jest.useFakeTimers();
    [changes, probes, isDead] = [[], [], true];
    circuit = new Circuit((error) => changes.push(error));
  });

  afterEach(() => {
    circuit.close();
    jest.useRealTimers();
  });

  it('stays closed while a server stumbles, and opens when it fails three times in a row', () => {
    fail();
    fail();
    circuit.succeeded();
    fail();
    fail();
    expect([circuit.isOpen, changes]).toEqual([false, []]);
    circuit.check();
    fail();
    expect([circuit.isOpen, changes]).toEqual([true, [MUTE]]);
    expect(() => circuit.check()).toThrow(MUTE);
  });

  it('opens at once when there is nobody to ask, and says so once', () => {
    fail(LOST, true);
    fail(LOST, true);
    expect(changes).toEqual([LOST]);
  });

  it('probes ever more rarely, at least every two seconds, and closes when it is answered', async () => {
    const startedAt = Date.now();
    fail(LOST, true);
    await pass(20_000);
    const waits = probes.map((at, index) => at - (probes[index - 1] ?? startedAt));
    waits.forEach((wait, index) => {
      const backoff = Math.min(100 * 2 ** index, 2000);
      expect(wait).toBeGreaterThanOrEqual(Math.floor(backoff / 2));
      expect(wait).toBeLessThanOrEqual(backoff + 1);
    });
    isDead = false;
    await pass(2000);
    expect([circuit.isOpen, changes]).toEqual([false, [LOST, undefined]]);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('probes as soon as there is hope', async () => {
    fail(LOST, true);
    isDead = false;
    circuit.retry();
    await pass(0);
    expect(circuit.isOpen).toBe(false);
  });

  it('reports each change of what its probes fail by, so that the newest cause is known', async () => {
    const causes = [LOST, MUTE, MUTE, LOST];
    circuit.failed(LOST, () => Promise.reject(causes[probes.push(Date.now()) - 1] ?? LOST), true);
    while (probes.length < causes.length) await pass(100);
    expect(changes).toEqual([LOST, MUTE, LOST]);
    expect(() => circuit.check()).toThrow(LOST);
  });

  it('stops probing for good when it is closed down', async () => {
    fail(LOST, true);
    circuit.close();
    await pass(10_000);
    expect([probes, jest.getTimerCount()]).toEqual([[], 0]);
  });
});
