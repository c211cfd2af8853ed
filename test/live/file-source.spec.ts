import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { FileRuleSource } from '../../lib/live.js';
import { closeApps } from '../support/nest-app.js';
import { until } from '../support/redis/until.mjs';
import { startLiveApp } from './live-app.js';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'live-rules-'));
});

afterEach(async () => {
  await closeApps();
  rmSync(folder, { recursive: true });
});

const written = (name: string, text: string): string => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};

describe('live rules in a file', () => {
  it('apply at start and after each change of the file', async () => {
    const path = written('limits.json', '{ "login": { "limit": 3 } }');
    const app = await startLiveApp(new FileRuleSource(path));
    expect(await app.policyOf('/login')).toContain('"login";q=3;');
    const next = written('next.json', '{ "login": { "exceptions": { "203.0.113.7": { "limit": 7 } } } }');
    renameSync(next, path);
    await until(async () => (await app.policyOf('/login'))!.includes('"login";q=10;'), 'the change');
    const vip = await app.policyOf('/login', { 'x-forwarded-for': '203.0.113.7' });
    expect(vip).toContain('"login";q=7;');
  });

  it('may be YAML, which another package reads', async () => {
    const path = written('limits.yaml', 'login:\n  limit: 3\n  exceptions:\n    203.0.113.7: deny\n');
    expect((await new FileRuleSource(path).load()).entries).toEqual([
      { rule: 'login', fields: { limit: 3 } },
      { rule: 'login', subject: '203.0.113.7', fields: 'deny' },
    ]);
  });

  it('stay in force while the file is missing or cannot be parsed', async () => {
    const path = written('limits.json', '{ "login": { "limit": 3 } }');
    const app = await startLiveApp(new FileRuleSource(path));
    writeFileSync(path, '{ "login": ');
    await until(async () => (await app.codes()).includes('RL_LIVE_RULES_UNREAD'), 'the warning');
    expect(await app.policyOf('/login')).toContain('"login";q=3;');
    writeFileSync(path, '{ "login": { "limit": 4 } }');
    await until(async () => (await app.policyOf('/login'))!.includes('q=4'), 'the next rules');
    expect(await app.codes()).toEqual([]);
  });

  it.each([
    ['a rule that the application has not', '{ "logn": { "limit": 5 } }', 10],
    [
      'an exception with a field of another algorithm',
      '{ "login": { "exceptions": { "203.0.113.7": { "burst": 5 } } } }',
      7,
    ],
    [
      'another form of a subject that has an exception',
      '{ "login": { "exceptions": { "203.0.113.7": { "limit": 7 }, "::ffff:203.0.113.7": "allow" } } }',
      7,
    ],
    [
      'two forms of one subject',
      '{ "login": { "exceptions": { "203.0.113.7": { "limit": 8 }, "::ffff:203.0.113.7": "allow" } } }',
      8,
    ],
    [
      'another form first, instead of one in force',
      '{ "login": { "exceptions": { "::ffff:203.0.113.7": { "limit": 6 }, "203.0.113.7": { "limit": 8 } } } }',
      6,
    ],
    [
      'another form, and a field of another algorithm',
      '{ "login": { "exceptions": { "203.0.113.7": { "burst": 5 }, "::ffff:203.0.113.7": { "limit": 6 } } } }',
      6,
    ],
  ])('that do not fit the rules are reported and not applied: %s', async (_what, text, limit) => {
    const path = written('limits.json', '{ "login": { "exceptions": { "203.0.113.7": { "limit": 7 } } } }');
    const app = await startLiveApp(new FileRuleSource(path));
    const policyOfVip = () => app.policyOf('/login', { 'x-forwarded-for': '203.0.113.7' });
    expect(await policyOfVip()).toContain('"login";q=7;');
    writeFileSync(path, text);
    await until(async () => (await app.codes()).includes('RL_LIVE_RULE_REJECTED'), 'the warning');
    expect(await policyOfVip()).toContain(`"login";q=${limit};`);
  });

  it.each(['[]', '{ "login": 5 }', '{ "login": { "exceptions": [] } }'])(
    'must be an object of rules: %s',
    async (text) => {
      await expect(new FileRuleSource(written('limits.json', text)).load()).rejects.toThrow(
        /allowed: an object/,
      );
    },
  );

  it('that cannot be parsed is named in the error', async () => {
    const path = written('limits.json', '{ "login": ');
    await expect(new FileRuleSource(path).load()).rejects.toThrow(`${path}: Unexpected end of JSON input`);
  });

  it('must have a name that states its format', () => {
    expect(() => new FileRuleSource('limits.txt')).toThrow(
      /path: got "limits.txt"; allowed: a path that ends/,
    );
  });
});
