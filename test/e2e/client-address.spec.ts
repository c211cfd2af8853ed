import { afterEach, describe, expect, it } from '@jest/globals';
import { clientAt, startDoor } from '../support/door-app.js';
import { closeApps, FRAMEWORKS, SETUPS } from '../support/nest-app.js';
import { virtualStore, VirtualTime } from '../support/virtual-store.js';

afterEach(closeApps);

describe.each(SETUPS)("a client's address on $framework with $kind", ({ framework, kind }) => {
  const setup = () => ({ framework, store: virtualStore(kind, new VirtualTime()), trustProxy: true });

  it("a rule counts by the client's address by default", async () => {
    const { knock } = await startDoor({}, setup());
    const clients = [clientAt('10.0.0.1'), clientAt('10.0.0.2'), clientAt('10.0.0.1')];
    expect(await knock(...clients)).toEqual([200, 200, 429]);
  });

  it('all notations of an IPv4 address share one counter', async () => {
    const { knock } = await startDoor({}, setup());
    const spellings = ['1.2.3.4', '::ffff:1.2.3.4', '::ffff:102:304', '::FFFF:0102:0304'];
    expect(await knock(...spellings.map((ip) => clientAt(ip)))).toEqual([200, 429, 429, 429]);
  });

  it('connections of a client behind a proxy that adds ports, as on Azure, share one counter', async () => {
    const { knock } = await startDoor({}, setup());
    const first = ['203.0.113.1:4711', '203.0.113.1:4712', '203.0.113.1', '::ffff:203.0.113.1:80'];
    const others = ['203.0.113.2:4711', '[2001:db8::1]:4711', '[2001:db8::1]:4712', '2001:db8::4711'];
    expect(await knock(...[...first, ...others].map((ip) => clientAt(ip)))).toEqual([
      200, 429, 429, 429, 200, 200, 429, 429,
    ]);
  });

  it('an address with a port matches the allow list', async () => {
    const { knock } = await startDoor({ allowList: ['203.0.113.1', '2001:db8::/32'] }, setup());
    const client = clientAt('203.0.113.1:4711');
    const other = clientAt('203.0.113.2:4711');
    const wide = clientAt('[2001:db8::1]:4711');
    expect(await knock(client, client, other, other, wide, wide)).toEqual([200, 200, 200, 429, 200, 200]);
  });

  it('all IPv6 addresses of a /64 network share one counter', async () => {
    const { knock } = await startDoor({ limit: 999 }, setup());
    const addresses = Array.from({ length: 1000 }, (_, nth) => `2001:db8:1:2:${nth.toString(16)}::1`);
    const statuses = await knock(...addresses.map((ip) => clientAt(ip)));
    expect(statuses.indexOf(429)).toBe(999);
    expect(await knock(clientAt('2001:db8:1:3::1'))).toEqual([200]);
  });

  it('`ipv6Prefix` sets the size of the IPv6 network that shares a counter', async () => {
    const { knock } = await startDoor({ ipv6Prefix: 48 }, setup());
    const addresses = ['2001:db8:1:2::1', '2001:db8:1:3::1', '2001:db8:2::1'];
    expect(await knock(...addresses.map((ip) => clientAt(ip)))).toEqual([200, 429, 200]);
  });
});

describe.each(FRAMEWORKS)('a client that lies about its address to %s', (framework) => {
  it('a client that rotates X-Forwarded-For is denied when no proxy is trusted', async () => {
    const { knock } = await startDoor({}, { framework });
    const claims = [clientAt('10.0.0.1'), clientAt('10.0.0.2'), clientAt('10.0.0.3')];
    expect(await knock(...claims)).toEqual([200, 429, 429]);
  });

  it('clients behind one proxy are told apart by a function of the hop, but on Fastify not by a number', async () => {
    const statuses: number[][] = [];
    for (const trustProxy of [1, (_address: string, hop: number) => hop < 1]) {
      const { knock, close } = await startDoor({}, { framework, trustProxy });
      statuses.push(await knock(clientAt('10.0.0.1'), clientAt('10.0.0.2')));
      await close();
    }
    expect(statuses).toEqual([
      [200, framework === 'express' ? 200 : 429],
      [200, 200],
    ]);
  });

  it('a client is counted by its connection when a trusted X-Forwarded-For is invalid', async () => {
    const { knock } = await startDoor({ limit: 3 }, { framework, trustProxy: true });
    const nonsense = [
      'nobody',
      '{',
      '"',
      '10.0.0.300',
      '10.0.0.1:http',
      '::1::1',
      '1.2.3',
      '0x7f.1',
      '9'.repeat(9999),
    ];
    expect(await knock(...nonsense.map((ip) => clientAt(ip)))).toEqual([
      200, 200, 200, 429, 429, 429, 429, 429, 429,
    ]);
  });
});
