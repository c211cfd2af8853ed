import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { compileRule } from '../../lib/rules/compile-rule.js';
import { keyOf, keyTail, encodeSubject } from '../../lib/rules/keys.js';
import { type Subject, subjectFromProgram } from '../../lib/rules/subject.js';
import '../../lib/algorithms/registry.js';

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
    return keyOf(
      'rl:{',
      subjectFromProgram(subject)!,
      keyTail(isTrial ? rule.trial! : rule, owner, instance),
    );
  }

  it('two counters share a key only if rule, trial, route, algorithm, process and subject are the same', () => {
    fc.assert(
      fc.property(counter, counter, (one, other) => {
        expect(spell(one) === spell(other)).toBe(JSON.stringify(one) === JSON.stringify(other));
      }),
      { seed: 7, numRuns: 2000 },
    );
  });

  it('two counters that differ in a single part have different keys', () => {
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

  it('a rule and its block never share a key, for any name of the process', () => {
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
  const subject: fc.Arbitrary<Subject> = fc.oneof(text, fc.array(text, { minLength: 1, maxLength: 12 }));
  const encoded = (whoever: Subject): string => encodeSubject(subjectFromProgram(whoever)!);

  it('two different subjects are never encoded in the same way', () => {
    fc.assert(
      fc.property(subject, subject, (a, b) => {
        expect(encoded(a) === encoded(b)).toBe(JSON.stringify(a) === JSON.stringify(b));
      }),
      { seed: 7, numRuns: 5000 },
    );
  });

  it('a client cannot forge the encoding of a hash or a tuple', () => {
    fc.assert(
      fc.property(subject, (whoever) => {
        const spelled = encoded(whoever);
        if (spelled !== whoever) expect(encoded(spelled)).not.toBe(spelled);
      }),
      { seed: 7, numRuns: 5000 },
    );
  });

  it('an encoded subject is short and has no special characters of Redis, whatever the client sends', () => {
    fc.assert(
      fc.property(subject, (whoever) => {
        expect(encoded(whoever)).toMatch(/^[\w.:@/+=,~*!$%&|#-]{1,320}$/);
      }),
      { seed: 7, numRuns: 5000 },
    );
  });
});
