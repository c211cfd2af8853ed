import { describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { decisionOf } from './decision.js';
import { denialIds, hasWritten } from './denial-id.js';

describe('the id of a denial', () => {
  it('has 12 characters, is another for each denial, and no two have a part in common', () => {
    const ids = Array.from({ length: 1000 }, () => denialIds.of(denialIds.next()));
    for (const id of ids) expect(id).toMatch(/^[\w-]{12}$/);
    for (const [from, until] of [
      [0, 6],
      [6, 12],
    ] as const)
      // prettier-ignore
      expect(new Set(ids.map((id) => id.slice(from, until))).size).toBe(1000);
  });

  it('is the same for a number, whichever ids were written meanwhile', () => {
    const first = denialIds.next();
    const id = denialIds.of(first);
    for (let nth = 0; nth < 200; nth += 1) denialIds.of(denialIds.next());
    expect(denialIds.of(first)).toBe(id);
  });

  it('is recognised by the key of its process, and by no other', () => {
    const id = denialIds.of(denialIds.next());
    expect(hasWritten(denialIds.key, id)).toBe(true);
    expect(hasWritten(randomBytes(16), id)).toBe(false);
    expect(hasWritten(randomBytes(32), id)).toBe(false);
    expect(hasWritten(denialIds.key, id.slice(1))).toBe(false);
    expect(hasWritten(denialIds.key, `${id.slice(0, 11)}${id.endsWith('A') ? 'B' : 'A'}`)).toBe(false);
  });
});

describe('a decision', () => {
  const hit = { rule: { name: 'login', capacity: 1, capacityWindowMs: 1000 } } as never;
  const result = { allowed: false, remaining: 0, retryAfter: 1, resetAfter: 1, delay: 0, source: 'memory', now: 0 } as const; // prettier-ignore

  it('has one id if it is denied, and none if it is allowed', () => {
    const denied = decisionOf([hit], [result], false);
    expect(denied.id).toMatch(/^[\w-]{12}$/);
    expect(denied.id).toBe(denied.id);
    expect(decisionOf([hit], [{ ...result, allowed: true }], false).id).toBeUndefined();
  });
});
