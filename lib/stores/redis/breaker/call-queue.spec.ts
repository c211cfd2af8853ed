import { describe, expect, it } from '@jest/globals';
import { Call } from '../wire/call.js';
import { DeadlineError } from '../link/deadline.js';
import { CallQueue, MOST_KEYS_IN_FLIGHT } from './call-queue.js';

const KEYS = 100;

/** A server that answers when it is told to, in the order in which calls were written. */
class Server {
  readonly written: { resolve: (reply: string) => void; reject: (error: Error) => void }[] = [];
  now = 0;
  readonly queue = new CallQueue(
    { run: () => new Promise((resolve, reject) => this.written.push({ resolve, reject })) },
    this,
    2000,
  );
  readonly outcomes: unknown[] = [];

  /** @returns the call, of 100 keys */
  send(timeout?: number): Call {
    const call = new Call(undefined);
    for (let key = 0; key < KEYS; key += 1) call.addKey(String(key));
    call.timeout = timeout;
    this.queue.run(call).then(
      (reply) => this.outcomes.push(reply),
      (error: unknown) => this.outcomes.push(error),
    );
    return call;
  }

  async answer(): Promise<void> {
    this.written.shift()!.resolve('reply');
    await settled();
  }

  async fail(error: Error): Promise<void> {
    this.written.shift()!.reject(error);
    await settled();
  }
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('the calls to one server', () => {
  it('are written up to 400 keys, and the others in order as replies arrive', async () => {
    const server = new Server();
    for (let nth = 0; nth < 1000; nth += 1) server.send();
    for (let answered = 0; answered < 1000; answered += 1) {
      expect(server.written).toHaveLength(Math.min(MOST_KEYS_IN_FLIGHT / KEYS, 1000 - answered));
      await server.answer();
    }
    expect(server.outcomes).toEqual(Array.from({ length: 1000 }, () => 'reply'));
  });

  it('are all rejected at once, unless already written, when one times out', async () => {
    const server = new Server();
    for (let nth = 0; nth < 10; nth += 1) server.send();
    await server.fail(new DeadlineError(50));
    expect(server.outcomes).toHaveLength(7);
    expect(server.written).toHaveLength(3);
  });

  it('continue when one fails with an error reply, or times out after a shorter time than usual', async () => {
    const server = new Server();
    server.send(5);
    for (let nth = 0; nth < 5; nth += 1) server.send();
    await server.fail(new DeadlineError(5));
    await server.fail(Object.assign(new Error('WRONGTYPE'), { name: 'ReplyError' }));
    for (let nth = 0; nth < 4; nth += 1) await server.answer();
    expect(server.outcomes).toHaveLength(6);
    expect(server.outcomes.filter((outcome) => outcome === 'reply')).toHaveLength(4);
  });

  it('are marked as slow if other replies arrived since they were written', async () => {
    const server = new Server();
    server.send();
    const slow = server.send();
    await server.answer();
    await server.fail(new DeadlineError(50));
    const silent = server.send();
    await server.fail(new DeadlineError(50));
    expect(slow.isSlow).toBe(true);
    expect(silent.isSlow).toBe(false);
  });

  it('are rejected while another one has waited for two seconds, and accepted again afterwards', async () => {
    const server = new Server();
    for (let nth = 0; nth < 5; nth += 1) server.send();
    server.now = 2001;
    server.send();
    await settled();
    expect(server.outcomes).toEqual([new Error('more calls wait for Redis than it answers')]);
    await server.answer();
    server.send();
    for (let nth = 0; nth < 5; nth += 1) await server.answer();
    expect(server.outcomes.slice(1)).toEqual(Array.from({ length: 6 }, () => 'reply'));
  });
});
