import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Circuit } from './circuit.js';

const LOST = new Error('connection lost');
const MUTE = new Error('no answer');

describe('a circuit breaker', () => {
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

  it('stays closed after single failures, and opens after three in a row', () => {
    fail();
    fail();
    circuit.succeeded();
    fail();
    fail();
    expect([circuit.isOpen, changes]).toEqual([false, []]);
    expect(circuit.cause).toBeUndefined();
    fail();
    expect([circuit.isOpen, changes]).toEqual([true, [MUTE]]);
    expect(circuit.cause).toBe(MUTE);
  });

  it('opens at once without a connection, and reports it once', () => {
    fail(LOST, true);
    fail(LOST, true);
    expect(changes).toEqual([LOST]);
  });

  it('probes with increasing intervals of at most two seconds, and closes after a reply', async () => {
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

  it('is half open while a probe runs, and until enough probes in a row have succeeded', async () => {
    let reply: (() => void) | undefined;
    const pending = () => new Promise<void>((resolve) => (reply = resolve));
    circuit.failed(LOST, pending, true);
    expect([circuit.isOpen, circuit.isProbing]).toEqual([true, false]);
    await pass(100);
    expect([circuit.isOpen, circuit.isProbing]).toEqual([true, true]);
    reply!();
    await pass(0);
    expect([circuit.isOpen, circuit.isProbing]).toEqual([false, false]);
    isDead = false;
    fail(LOST, true);
    while (probes.length < 1) await pass(10);
    expect([circuit.isOpen, circuit.isProbing]).toEqual([true, true]);
    isDead = true;
    while (probes.length < 2) await pass(10);
    expect([circuit.isOpen, circuit.isProbing]).toEqual([true, false]);
  });

  it('closes after twice as many replies each time that it opens again within ten seconds, up to eight', async () => {
    isDead = false;
    const needed: number[] = [];
    for (let nth = 0; nth < 6; nth += 1) {
      probes = [];
      fail(LOST, true);
      while (circuit.isOpen) await pass(100);
      needed.push(probes.length);
    }
    expect(needed).toEqual([1, 2, 4, 8, 8, 8]);
    await pass(10_000);
    probes = [];
    fail(LOST, true);
    while (circuit.isOpen) await pass(100);
    expect(probes).toHaveLength(1);
  });

  it('opens and closes a few times a minute if every second reply is late, not at every reply', async () => {
    let isLate = false;
    const answer = async () => {
      isLate = !isLate;
      if (isLate) throw MUTE;
    };
    for (let at = 0; at < 60_000; at += 100) {
      if (!circuit.isOpen) for (let nth = 0; nth < 3; nth += 1) circuit.failed(MUTE, answer, false);
      await pass(100);
    }
    expect(changes.filter((change) => change !== undefined).length).toBeLessThanOrEqual(3);
  });

  it('continues its backoff if it opens again at once', async () => {
    fail(LOST, true);
    await pass(20_000);
    isDead = false;
    await pass(2000);
    isDead = true;
    const reopenedAt = Date.now();
    probes = [];
    fail(LOST, true);
    await pass(3000);
    expect(probes[0]! - reopenedAt).toBeGreaterThanOrEqual(1000);
  });

  it('probes at once when the server may have recovered', async () => {
    fail(LOST, true);
    isDead = false;
    circuit.retry();
    await pass(0);
    expect(circuit.isOpen).toBe(false);
  });

  it('reports each change of the error of its probes, so that the latest cause is known', async () => {
    const causes = [LOST, MUTE, MUTE, LOST];
    circuit.failed(LOST, () => Promise.reject(causes[probes.push(Date.now()) - 1] ?? LOST), true);
    while (probes.length < causes.length) await pass(100);
    expect(changes).toEqual([LOST, MUTE, LOST]);
    expect(circuit.cause).toBe(LOST);
  });

  it('stops probing when it is closed', async () => {
    fail(LOST, true);
    circuit.close();
    await pass(10_000);
    expect([probes, jest.getTimerCount()]).toEqual([[], 0]);
  });
});
