import { afterEach, expect, it } from '@jest/globals';
import { RateLimitService } from '../../lib/index.js';
import { MemoryRuleSource } from '../../lib/live.js';
import { closeApps, FRAMEWORKS } from '../support/nest-app.js';
import { startDashboard } from './dashboard-app.js';

afterEach(closeApps);

const SECRETS = ['ann.secret@example.com', ['ann "secret" [1]', 'ann.secret@example.com']] as const;

it.each(FRAMEWORKS)(
  'a change that does not fit an exception has no preview and is not made, and its message masks the subject, on %s',
  async (framework) => {
    for (const subject of SECRETS) {
      const by = typeof subject === 'string' ? 'x-user' : ['x-user', 'x-mail'];
      const { app, change } = await startDashboard({
        framework,
        limits: {
          onDemand: { login: { window: '1m', limit: 5, algorithm: 'gcra', by: by as 'ip' } },
          liveRules: new MemoryRuleSource(),
        },
      });
      const exception = { burst: 50, limit: 1000 };
      await app.get(RateLimitService).rules.setException('login', subject, exception, { by: 'ops' });
      const body = { rule: 'login', fields: { algorithm: 'fixed-window' } };
      const answers = [
        await change('rules/preview', body),
        await change('rules/set', { ...body, version: 0 }),
      ];
      for (const { status, body: text } of answers) {
        const { message } = JSON.parse(text) as { message: string };
        expect([status, message.includes('burst')]).toEqual([422, true]);
        expect(message.includes('secret')).toBe(false);
        expect(message.includes('•••')).toBe(true);
      }
    }
  },
);

it.each(FRAMEWORKS)(
  'a message with the text of an operator that looks like one about a subject is answered, and the text is masked, on %s',
  async (framework) => {
    const { change } = await startDashboard({ framework });
    for (const text of ['{secret}', '[secret]', '-00', '"\\q']) {
      const body = { rule: 'default', fields: { limit: ` for subject ${text}` } };
      const answer = await change('rules/preview', body);
      const { message } = JSON.parse(answer.body) as { message: string };
      expect([text, answer.status, message.includes('limit: got')]).toEqual([text, 422, true]);
      expect(message).not.toContain('secret');
    }
  },
);

it('a rejected exception is a problem on the page for each rule and code, without its subject', async () => {
  const fields = { limit: 'abc' as unknown as number };
  const entries = ['login', 'default', 'gone'].map((rule) => ({ rule, subject: SECRETS[0], fields }));
  const bidi = { rule: 'login', subject: ['secret\u202e', 'a "secret'], fields };
  const liveRules = {
    watch: () => () => undefined,
    load: async () => ({ version: 1, entries: [...entries, bidi] }),
  };
  const { snapshot } = await startDashboard({ limits: { liveRules } });
  const texts = (await snapshot()).problems.map(({ text }) => text);
  for (const rule of ['login', 'default', 'gone']) {
    const ofRule = texts.filter(
      (text) => text.includes(`live rule "${rule}"`) && text.includes('RL_LIVE_RULE_REJECTED'),
    );
    expect([rule, ofRule.length]).toEqual([rule, 1]);
  }
  expect(texts.join('\n')).toContain('for subject "an•••m"');
  expect(texts.join('\n')).toContain('subject of live rule "login": got "•••"; allowed: an IP address');
  expect(texts.join('\n')).not.toContain('secret');
});

it('the snapshot has the number of subjects with a live exception of each rule', async () => {
  const { app, rule } = await startDashboard({ limits: { liveRules: new MemoryRuleSource() } });
  expect((await rule('default')).exceptions).toBe(0);
  const { rules } = app.get(RateLimitService);
  await rules.setException('default', '203.0.113.7', 'deny', { by: 'ops' });
  await rules.setException('default', '203.0.113.8', { limit: 5 }, { by: 'ops' });
  expect((await rule('default')).exceptions).toBe(2);
  await rules.unsetException('default', '203.0.113.7', { by: 'ops' });
  expect((await rule('default')).exceptions).toBe(1);
});
