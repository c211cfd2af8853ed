import { describe, expect, it } from '@jest/globals';
import { type Client, Clients } from './clients.js';

function open(maxSize: number) {
  const dropped: Client[] = [];
  const clients = new Clients(
    1,
    maxSize,
    () => 1,
    (client) => dropped.push(client),
  );
  return { clients, dropped };
}

describe('the clients of a simulation', () => {
  it('count their requests, and are all dropped at the end, the least recently seen first', () => {
    const { clients, dropped } = open(100);
    for (const subject of ['ann', 'bob', 'eve', 'ann']) clients.measure(clients.take(subject));
    clients.dropAll();
    expect(dropped.map(({ key, requests }) => [key, requests])).toEqual([
      ['bob', 1],
      ['eve', 1],
      ['ann', 2],
    ]);
  });

  it('never exceed the maximum, and active clients stay', () => {
    const { clients, dropped } = open(80);
    let held = 0;
    for (let n = 0; n < 1000; n += 1) {
      clients.measure(clients.take(`passing ${n}`));
      const active = clients.take('active');
      clients.measure(active);
      expect(active.requests).toBe(n + 1);
      held = n + 2 - dropped.length;
      expect(held).toBeLessThanOrEqual(80);
    }
    expect(held).toBeGreaterThan(30);
  });
});
