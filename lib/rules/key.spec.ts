import { describe, expect, it } from '@jest/globals';
import { STRANGE_SUBJECTS } from '../../test/contract/strange-subjects.js';
import { keyOf, keyTail, encodeSubject } from './keys.js';
import { compileRule } from './compile-rule.js';
import { subjectFromProgram } from './subject.js';
import '../algorithms/registry.js';

const login = compileRule({ name: 'login', algorithm: 'gcra', limit: 1, window: '1s' });

describe('keys', () => {
  it('contain prefix, subject, rule, route and algorithm in a readable form', () => {
    expect(keyOf('rl:{', '203.0.113.7', keyTail(login))).toBe('rl:{203.0.113.7}:login:gcra2/1000');
    expect(keyOf('rl:{', '2001:db8::/64', keyTail(login, 'POST /auth/login'))).toBe(
      'rl:{2001:db8::/64}:login@POST /auth/login:gcra2/1000',
    );
    expect(keyOf('rl:{', ['acme', 'ann@example.com'], keyTail(login))).toBe(
      'rl:{4|acme|15|ann@example.com}:login:gcra2/1000',
    );
  });

  it('differ between a rule of one route and a shared rule whose name contains that route', () => {
    const shared = compileRule({ name: 'login@Auth.login', algorithm: 'gcra', limit: 1, window: '1s' });
    expect(keyTail(shared)).not.toBe(keyTail(login, 'Auth.login'));
  });
});

describe('counters', () => {
  it('have different keys for the trial limit of rule "x" and for a rule named "x?"', () => {
    const x = compileRule({ name: 'x', algorithm: 'gcra', limit: 5, window: '1m', trial: { limit: 1 } });
    const other = compileRule({ name: 'x?', algorithm: 'gcra', limit: 5, window: '1m' });
    expect(keyTail(x.trial!)).toBe('}:x?:gcra2/60000');
    expect(keyTail(other)).not.toBe(keyTail(x.trial!));
  });
});

describe('encodeSubject', () => {
  it('returns different encodings for lists whose joined parts are equal', () => {
    const encoded = [['a-b', 'c'], ['a', 'b-c'], ['a-b-c'], ['a', 'b', 'c'], 'a-b-c'].map(encodeSubject);
    expect(new Set(encoded).size).toBe(5);
  });

  it('returns a different encoding for every unusual subject', () => {
    const encoded = STRANGE_SUBJECTS.map(([, strange]) => encodeSubject(subjectFromProgram(strange)!));
    expect(new Set(encoded).size).toBe(STRANGE_SUBJECTS.length);
  });

  // The first half of the SHA-256 of `text:`, followed by the UTF-16 of the part.
  it('returns the same encoding in every release, so that a deploy resets no counter', () => {
    expect(encodeSubject('{a}')).toBe('#b49235cc0df908a8ce5e080a751d2cc8');
    expect(encodeSubject(['{a}', 'b'])).toBe('33|#b49235cc0df908a8ce5e080a751d2cc8|1|b');
  });
});
