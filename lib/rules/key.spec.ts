import { describe, expect, it } from '@jest/globals';
import { STRANGE_SUBJECTS } from '../../test/contract/strange-subjects.js';
import { keyHead, keyOf, keyTail, spellSubject } from './key.js';
import { compileRule } from './compile-rule.js';

const login = compileRule({ name: 'login', algorithm: 'gcra', limit: 1, window: '1s' });

describe('a key', () => {
  it('can be read by whoever looks for a client in Redis', () => {
    expect(keyOf(keyHead('rl:'), '203.0.113.7', keyTail(login))).toBe('rl:{203.0.113.7}:login:gcra');
    expect(keyOf(keyHead('rl:'), '2001:db8::/64', keyTail(login, 'AuthController.login'))).toBe(
      'rl:{2001:db8::/64}:login@AuthController.login:gcra',
    );
    expect(keyOf(keyHead('rl:'), ['acme', 'ann@example.com'], keyTail(login))).toBe(
      'rl:{4|acme|15|ann@example.com}:login:gcra',
    );
  });

  it('is not shared by a route and a rule of that name for all routes', () => {
    const shared = compileRule({ name: 'login@Auth.login', algorithm: 'gcra', limit: 1, window: '1s' });
    expect(keyTail(shared)).not.toBe(keyTail(login, 'Auth.login'));
  });
});

describe('two counters', () => {
  it('of a trial of rule "x" and of a rule that is called "x?" never share a key', () => {
    const x = compileRule({ name: 'x', algorithm: 'gcra', limit: 5, window: '1m', trial: { limit: 1 } });
    const other = compileRule({ name: 'x?', algorithm: 'gcra', limit: 5, window: '1m' });
    expect(keyTail(x.trial!)).toBe('}:x?:gcra');
    expect(keyTail(other)).not.toBe(keyTail(x.trial!));
  });
});

describe('the spelling of a subject', () => {
  it('tells tuples apart that read the same when joined', () => {
    const spelled = [['a-b', 'c'], ['a', 'b-c'], ['a-b-c'], ['a', 'b', 'c'], 'a-b-c'].map(spellSubject);
    expect(new Set(spelled).size).toBe(5);
  });

  it('is another for every strange subject', () => {
    const spelled = STRANGE_SUBJECTS.map(([, strange]) => spellSubject(strange));
    expect(new Set(spelled).size).toBe(STRANGE_SUBJECTS.length);
  });

  // The first half of SHA-256 of `text:` and the UTF-16 of it.
  it('stays the same from release to release, so that a deploy forgets nobody', () => {
    expect(spellSubject('{a}')).toBe('#b49235cc0df908a8ce5e080a751d2cc8');
    expect(spellSubject(['{a}', 'b'])).toBe('#d35e6eba24efef52c77d38f4576de8e8');
  });
});
