import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import { clientAt, startDoor, userAs } from '../support/door-app.js';
import { closeApps, FRAMEWORKS, type AppSetup, type Framework } from '../support/nest-app.js';

const directory = mkdtempSync(join(tmpdir(), 'rl-socket-'));
let sockets = 0;

afterEach(closeApps);
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const WARNING = 'RL_NO_CLIENT_ADDRESS';

/** Trusts the proxy at the other end of the socket, and no other one. */
const TRUST_OF: Record<Framework, AppSetup['trustProxy']> = {
  express: 1,
  fastify: (_address, hop) => hop === 0,
};

describe.each(FRAMEWORKS)('%s on a unix socket', (framework) => {
  const setup = (trustProxy: AppSetup['trustProxy'] = false): AppSetup => ({
    framework,
    trustProxy,
    socketPath: join(directory, `${++sockets}.sock`),
  });
  const linesOf = ({ logs }: Awaited<ReturnType<typeof startDoor>>) =>
    logs.ours().filter(({ message }) => message.includes(WARNING));

  it('a request without a client address fails, and the log explains once how to trust the proxy', async () => {
    const door = await startDoor({ limit: 5 }, setup());
    expect(await door.knock(clientAt('203.0.113.1'), clientAt('203.0.113.2'), {})).toEqual([500, 500, 500]);
    expect(linesOf(door)).toHaveLength(1);
    expect(linesOf(door)[0]!.message).toContain('trust');
  });

  it('clients on a Unix socket are counted separately once the proxy is trusted', async () => {
    const door = await startDoor({}, setup(TRUST_OF[framework]));
    const clients = [clientAt('203.0.113.1'), clientAt('203.0.113.2:80'), clientAt('203.0.113.1:81')];
    expect(await door.knock(...clients)).toEqual([200, 200, 429]);
    expect(linesOf(door)).toEqual([]);
  });

  it('a request fails when the trusted proxy sent no usable address', async () => {
    const door = await startDoor({}, setup(TRUST_OF[framework]));
    expect(await door.knock({}, clientAt('unknown'), clientAt('203.0.113.1'))).toEqual([500, 500, 200]);
    expect(linesOf(door)).toHaveLength(1);
  });

  it.each([
    ['skip', [200, 200]],
    ['deny', [429, 429]],
  ] as const)(
    'onMissingSubject applies to requests without an address: %s',
    async (onMissingSubject, statuses) => {
      const door = await startDoor({ onMissingSubject }, setup());
      expect(await door.knock({}, {})).toEqual(statuses);
      expect(linesOf(door)).toEqual([]);
    },
  );

  it('requests without a user are not counted together, while users are counted', async () => {
    const door = await startDoor({ by: 'user' }, setup());
    expect(await door.knock(userAs('ann'), userAs('ann'), {}, {})).toEqual([200, 429, 500, 500]);
    expect(linesOf(door)).toHaveLength(1);
  });

  it('a shadow rule denies no request without an address', async () => {
    const door = await startDoor({ mode: 'shadow' }, setup());
    expect(await door.knock({}, {})).toEqual([200, 200]);
  });

  it('a rule with another subject needs no address', async () => {
    const door = await startDoor({ by: 'everyone', limit: 2 }, setup());
    expect(await door.knock({}, {}, {})).toEqual([200, 200, 429]);
    expect(linesOf(door)).toEqual([]);
  });
});
