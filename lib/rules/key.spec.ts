import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { STRANGE_SUBJECTS } from '../../test/contract/strange-subjects.js';
import { keyHead, keyOf, keyTail, spellSubject, type Subject } from './key.js';
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
  const name = fc
    .array(fc.constantFrom('a', 'b', '?', '%', '3', 'F', ':', '@', '{', '}', '/'), {
      minLength: 1,
      maxLength: 4,
    })
    .map((characters) => characters.join(''));
  const counter = fc.record({
    name,
    isTrial: fc.boolean(),
    owner: fc.option(name, { nil: undefined }),
    algorithm: fc.constantFrom('gcra' as const, 'fixed-window' as const),
    instance: fc.option(fc.constantFrom('0123456789ab', 'ba9876543210'), { nil: undefined }),
    subject: fc.oneof(name, fc.array(name, { minLength: 1, maxLength: 2 })),
  });

  type Counter = typeof counter extends fc.Arbitrary<infer Drawn> ? Drawn : never;

  function spell({ name, isTrial, owner, algorithm, instance, subject }: Counter) {
    const rule = compileRule({ name, algorithm, limit: 5, window: '1m', trial: { limit: 1 } });
    return keyOf(keyHead('rl:'), subject, keyTail(isTrial ? rule.trial! : rule, owner, instance));
  }

  it('of a trial of rule "x" and of a rule that is called "x?" never share a key', () => {
    const x = compileRule({ name: 'x', algorithm: 'gcra', limit: 5, window: '1m', trial: { limit: 1 } });
    const other = compileRule({ name: 'x?', algorithm: 'gcra', limit: 5, window: '1m' });
    expect(keyTail(x.trial!)).toBe('}:x?:gcra');
    expect(keyTail(other)).not.toBe(keyTail(x.trial!));
  });

  it('share a key only if rule, trial, route, algorithm, process and subject are the same', () => {
    fc.assert(
      fc.property(counter, counter, (one, other) => {
        expect(spell(one) === spell(other)).toBe(JSON.stringify(one) === JSON.stringify(other));
      }),
      { seed: 7, numRuns: 2000 },
    );
  });

  it('are told apart where they differ in one part only', () => {
    fc.assert(
      fc.property(
        counter,
        counter,
        fc.constantFrom('name', 'isTrial', 'owner', 'subject'),
        (one, from, part) => {
          const other = { ...one, [part]: from[part] };
          expect(spell(one) === spell(other)).toBe(JSON.stringify(one) === JSON.stringify(other));
        },
      ),
      { seed: 7, numRuns: 2000 },
    );
  });

  it('of a rule and of its block never share a key, whatever the process is called', () => {
    fc.assert(
      fc.property(counter, counter, (one, other) => {
        expect(`${spell(one)}:block`).not.toBe(spell(other));
      }),
      { seed: 7, numRuns: 2000 },
    );
  });
});

describe('the spelling of a subject', () => {
  const text = fc.oneof(
    fc.string({ maxLength: 80, unit: 'binary' }),
    fc.string({ maxLength: 4, unit: fc.constantFrom('a', 'b', '-', '|', '#', '1', '{', '}') }),
    fc
      .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 3 })
      .map((units) => String.fromCharCode(...units)),
  );
  const subject: fc.Arbitrary<Subject> = fc.oneof(text, fc.array(text, { minLength: 1, maxLength: 4 }));

  it('tells tuples apart that read the same when joined', () => {
    const spelled = [['a-b', 'c'], ['a', 'b-c'], ['a-b-c'], ['a', 'b', 'c'], 'a-b-c'].map(spellSubject);
    expect(new Set(spelled).size).toBe(5);
  });

  it('is another for every strange subject', () => {
    const spelled = STRANGE_SUBJECTS.map(([, strange]) => spellSubject(strange));
    expect(new Set(spelled).size).toBe(STRANGE_SUBJECTS.length);
  });

  it('is another for any two subjects', () => {
    fc.assert(
      fc.property(subject, subject, (a, b) => {
        expect(spellSubject(a) === spellSubject(b)).toBe(JSON.stringify(a) === JSON.stringify(b));
      }),
      { seed: 7, numRuns: 5000 },
    );
  });

  it('cannot be forged: who calls himself as a hash or a tuple is spelled is somebody else', () => {
    fc.assert(
      fc.property(subject, (whoever) => {
        const spelled = spellSubject(whoever);
        if (spelled !== whoever) expect(spellSubject(spelled)).not.toBe(spelled);
      }),
      { seed: 7, numRuns: 5000 },
    );
  });

  it('is short and holds nothing that means something to Redis, whatever the client sends', () => {
    fc.assert(
      fc.property(subject, (whoever) => {
        expect(spellSubject(whoever)).toMatch(/^[\w.:@/+=,~*!$%&|#-]{1,64}$/);
      }),
      { seed: 7, numRuns: 5000 },
    );
  });

  // The first half of SHA-256 of `text:` and the UTF-16 of it.
  it('stays the same from release to release, so that a deploy forgets nobody', () => {
    expect(spellSubject('{a}')).toBe('#b49235cc0df908a8ce5e080a751d2cc8');
    expect(spellSubject(['{a}', 'b'])).toBe('#d35e6eba24efef52c77d38f4576de8e8');
  });
});
