import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Call } from './wire/call.js';
import { CallQueue } from './breaker/call-queue.js';
import { Deadline, DeadlineError } from './link/deadline.js';

const TIMEOUT_MS = 50;
const KEYS = 100;
const CALLS = 100;

/** A server that makes a constant number of decisions per second, and its calls, on a virtual clock. */
class PacedServer {
  readonly deadline = new Deadline(TIMEOUT_MS);
  /** The outcomes of all calls: the time of a reply, or an error. */
  readonly outcomes: unknown[] = [];
  private busyUntil = performance.now();
  private readonly queue = new CallQueue(
    { run: () => this.deadline.within(this.reply()) },
    this.deadline,
    2000,
  );

  constructor(private readonly decisionsPerSecond: number) {}

  /** Sends 10,000 requests in one turn of the event loop: 100 calls of 100 keys. */
  burst(): void {
    for (let nth = 0; nth < CALLS; nth += 1) {
      const call = new Call(undefined);
      for (let key = 0; key < KEYS; key += 1) call.addKey(String(key));
      this.queue.run(call).then(
        (at) => this.outcomes.push(at),
        (error: unknown) => this.outcomes.push(error),
      );
    }
  }

  private reply(): Promise<number> {
    this.busyUntil = Math.max(this.busyUntil, performance.now()) + (1000 * KEYS) / this.decisionsPerSecond;
    const leftMs = this.busyUntil - performance.now();
    return new Promise((resolve) => setTimeout(() => resolve(performance.now()), leftMs));
  }
}

describe('10,000 requests in one turn of the event loop, with a timeout of 50 ms', () => {
  const pass = (milliseconds: number) => jest.advanceTimersByTimeAsync(milliseconds);

  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => {
    jest.restoreAllMocks();
    jest.useRealTimers();
  });

  it.each([8_200, 20_000, 100_000])(
    'all wait for a Redis that makes %i decisions per second',
    async (decisionsPerSecond) => {
      const server = new PacedServer(decisionsPerSecond);
      server.burst();
      await pass((1000 * CALLS * KEYS) / decisionsPerSecond + TIMEOUT_MS);
      expect(server.outcomes).toHaveLength(CALLS);
      expect(server.outcomes.filter((outcome) => outcome instanceof Error)).toEqual([]);
      server.deadline.close();
    },
  );

  it('all go to the fallback at once, except those that were decided, if Redis is slower', async () => {
    const server = new PacedServer(7_000);
    server.burst();
    await pass(1.1 * TIMEOUT_MS);
    expect(server.outcomes.filter((outcome) => outcome instanceof DeadlineError).length).toBeGreaterThan(
      CALLS - 10,
    );
    await pass(1000);
    expect(server.outcomes).toHaveLength(CALLS);
    server.deadline.close();
  });

  it('all wait although the process does not run for a second in between', async () => {
    let paused = 0;
    const clock = performance.now.bind(performance);
    jest.spyOn(performance, 'now').mockImplementation(() => clock() + paused);
    const server = new PacedServer(20_000);
    server.burst();
    for (let nth = 0; nth < 5; nth += 1) {
      await pass(33);
      paused += 1000;
    }
    await pass(10_000);
    expect(server.outcomes).toHaveLength(CALLS);
    expect(server.outcomes.filter((outcome) => outcome instanceof Error)).toEqual([]);
    server.deadline.close();
  });
});
