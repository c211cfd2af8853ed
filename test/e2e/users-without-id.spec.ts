import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimitHealth, Warnings, type RouteRule } from '../../lib/index.js';
import { clientAt, startDoor, userAs } from '../support/door-app.js';
import { closeApps, FRAMEWORKS } from '../support/nest-app.js';

afterEach(closeApps);

describe.each(FRAMEWORKS)('a rule that counts by user, on %s', (framework) => {
  const start = (rule: RouteRule = {}) =>
    startDoor({ by: 'user', ...rule }, { framework, trustProxy: 'loopback' });
  const warned = ({ app }: Awaited<ReturnType<typeof start>>) => app.get(Warnings).active;

  it("by: 'user' counts by _id", async () => {
    const door = await start();
    expect(await door.knock(userAs({ _id: 'a' }), userAs({ _id: 'b' }), userAs({ _id: 'a' }))).toEqual([
      200, 200, 429,
    ]);
    expect(warned(door).size).toBe(0);
  });

  it.each([{ uuid: 'a' }, { email: 'a@b.c' }, { id: { oid: 'a' } }, true])(
    'users without an id such as %p are reported once, although users with an id came before',
    async (user) => {
      const door = await start();
      expect(await door.knock(userAs({ id: 1 }), clientAt('10.0.0.2'))).toEqual([200, 200]);
      expect(warned(door).size).toBe(0);
      expect(await door.knock(userAs(user), userAs(user))).toEqual([200, 429]);
      const lines = door.logs.ours().filter(({ level }) => level === 'warn');
      expect(lines.map(({ message }) => message)).toEqual([
        `rule "default" of DoorController.knock counts by user, and a request had a \`request.user\` without an id: none of id, sub, userId and _id is a string, a number or an object such as an ObjectId. Such a request counts by its IP. Set one of them, or count by a function: by: (context) => context.switchToHttp().getRequest().user.email. (RL_USER_WITHOUT_ID, see docs/warnings.md)`,
      ]);
      const { rateLimit } = await door.app.get(RateLimitHealth).isHealthy();
      expect(rateLimit.warnings).toEqual(['RL_USER_WITHOUT_ID']);
    },
  );

  it('a user with an id is not reported if another part of the subject is missing', async () => {
    const door = await start({ by: ['user', 'x-tenant'] });
    expect(await door.knock(userAs({ id: 'ann' }))).toEqual([200]);
    expect(warned(door).get('RL_USER_WITHOUT_ID')).toBeUndefined();
  });

  it.each([
    ['skip', 'is allowed without this rule'],
    ['deny', 'is denied'],
  ] as const)(
    'the warning states what happens to such requests with onMissingSubject %s',
    async (onMissingSubject, gets) => {
      const door = await start({ onMissingSubject });
      await door.knock(userAs({ email: 'a@b.c' }));
      expect(warned(door).get('RL_USER_WITHOUT_ID')).toContain(`Such a request ${gets}.`);
    },
  );
});
