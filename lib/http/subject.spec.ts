import { createHash } from 'node:crypto';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { headerSubject, headerSubjectOf, userSubject, userSubjectOf, type HttpRequest } from './subject.js';

/** Has the methods of an ObjectId of MongoDB's driver that are used here. */
class ObjectId {
  constructor(readonly id: Uint8Array) {}

  toString(encoding?: 'hex' | 'base64') {
    return Buffer.from(this.id).toString(encoding ?? 'hex');
  }
}

/** 128 bits of SHA-256, as printed by `printf value | sha256sum | cut -c -32`. */
const hash = (value: string) => createHash('sha256').update(value).digest('hex').slice(0, 32);

const keyIn = headerSubject('x-api-key');
const keyOf = headerSubjectOf('x-api-key');

describe('userSubject', () => {
  it.each<[unknown, string | undefined]>([
    ['alice', 'alice'],
    [0, '0'],
    [7n, '7'],
    [{ id: 7, sub: 'no', userId: 'no' }, '7'],
    [{ id: '', sub: 'alice', userId: 'no' }, 'alice'],
    [{ id: {}, userId: 'alice' }, 'alice'],
    [{ _id: 'alice' }, 'alice'],
    [{ id: 7, _id: 'no' }, '7'],
    [{ _id: new ObjectId(Uint8Array.of(1, 171)) }, '01ab'],
    [{ id: new ObjectId(Uint8Array.of(1, 172)) }, '01ac'],
    [{ id: 2n ** 64n }, '18446744073709551616'],
    [{ id: '__proto__' }, '__proto__'],
    ['constructor', 'constructor'],
  ])('returns for the user %p the subject %s', (user, expected) => {
    expect(userSubject({ user })).toBe(expected);
  });

  it.each([
    undefined,
    null,
    '',
    NaN,
    true,
    [],
    {},
    { id: null },
    { id: ['a'] },
    { id: { toString: 'a' } },
    { id: { toString: () => 'a' } },
    { id: Buffer.from('a') },
    { id: new Map([['a', 'b']]) },
    { id: Object.create(null) },
    { id: runInNewContext('({})') },
    { email: 'a@b.c' },
    { id: NaN },
    () => 'a',
    Object.create(null),
  ])('returns undefined for %p, which several users would share', (user) => {
    expect(userSubject({ user })).toBeUndefined();
  });

  it('returns undefined for an id whose toString throws', () => {
    class Broken {
      toString() {
        throw new Error('broken');
      }
    }
    expect(userSubject({ user: { id: new Broken() } })).toBeUndefined();
  });

  it('reads an id from a getter of a class', () => {
    class User {
      get id() {
        return 'alice';
      }
    }
    expect(userSubject({ user: new User() })).toBe('alice');
  });
});

describe('headerSubject', () => {
  const tenant = headerSubject('X-Tenant');

  it.each<[HttpRequest, string | undefined]>([
    [{ headers: { 'x-tenant': 'acme' } }, hash('acme')],
    [{ headers: { 'x-tenant': ['acme', 'b'] } }, hash('acme,b')],
    [{ headers: { 'x-tenant': '__proto__' } }, hash('__proto__')],
    [{ headers: { 'x-tenant': ' ' } }, undefined],
    [{ headers: { 'x-tenant': '' } }, undefined],
    [{ headers: { 'x-tenant': [] } }, undefined],
    [{ headers: { 'x-tenant': undefined } }, undefined],
    [{ headers: Object.create({ 'x-tenant': 'everyone' }) as Record<string, string> }, undefined],
    [{ headers: {} }, undefined],
    [{}, undefined],
  ])('returns the hash of the header, or undefined if it is missing or empty: %j', (request, expected) => {
    expect(tenant(request)).toBe(expected);
  });

  it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
    'ignores properties that every object inherits: %s',
    (name) => {
      expect(headerSubject(name)({ headers: {} })).toBeUndefined();
      expect(headerSubject(name)({ headers: Object.create(null) as Record<string, string> })).toBeUndefined();
    },
  );

  it.each(['x-api-key', 'Authorization', 'proxy-authorization', 'Cookie', 'X-Auth-Token', 'apikey'])(
    'returns a hash of %s, so that the keys in Redis do not contain the value',
    (name) => {
      const headers = { [name.toLowerCase()]: 'secret' };
      // The output of `printf secret | sha256sum`.
      expect(headerSubject(name)({ headers })).toBe('2bb80d537b1da3e38bd30361aa855686');
    },
  );

  it('hashes values of several megabytes', () => {
    const value = 'a,'.repeat(5_000_000);
    const digest = createHash('sha256').update(value).digest('hex').slice(0, 32);
    expect(keyIn({ headers: { 'x-api-key': value } })).toBe(digest);
    expect(tenant({ headers: { 'x-tenant': value } })).toBe(digest);
  });

  it('returns the same subject for a token with the scheme in upper or lower case, after any number of spaces', () => {
    const subject = headerSubject('Authorization');
    const spellings = ['Bearer t0K', 'bearer t0K', 'BEARER   t0K', 'bEaReR\tt0K', ' Bearer t0K '];
    const subjects = spellings.map((authorization) => subject({ headers: { authorization } }));
    expect(new Set(subjects)).toEqual(new Set([hash('bearer t0K')]));
    expect(subject({ headers: { authorization: 'Bearer t0k' } })).not.toBe(subjects[0]);
    expect(subject({ headers: { authorization: 't0K' } })).toBe(hash('t0K'));
    expect(subject({ headers: { authorization: ' '.repeat(1_000_000) } })).toBeUndefined();
  });
});

describe('the header x-api-key', () => {
  it('returns different hashes for different keys', () => {
    expect(keyIn({ headers: { 'x-api-key': 'secret' } })).toBe('2bb80d537b1da3e38bd30361aa855686');
    expect(keyIn({ headers: { 'x-api-key': 'Secret' } })).not.toBe('2bb80d537b1da3e38bd30361aa855686');
    expect(keyIn({ headers: {} })).toBeUndefined();
  });
});

describe('the subject of a value that a program passes', () => {
  it.each([7, '7', 7n])('is that of a request by the user %p', (id) => {
    expect(userSubjectOf(id)).toBe(userSubject({ user: { id } }));
  });

  it('is that of a request with the value in a header', () => {
    expect(keyOf('secret')).toBe(keyIn({ headers: { 'x-api-key': 'secret' } }));
    expect(headerSubjectOf('X-Tenant')(' acme ')).toBe(
      headerSubject('x-tenant')({ headers: { 'x-tenant': 'acme' } }),
    );
    expect(headerSubjectOf('Authorization')('Bearer t')).toBe(
      headerSubject('authorization')({ headers: { authorization: 'bearer t' } }),
    );
    expect(keyOf('')).toBeUndefined();
  });
});
