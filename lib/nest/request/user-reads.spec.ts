import { describe, expect, it } from '@jest/globals';
import { UserReads } from './user-reads.js';

interface Request {
  user?: unknown;
}

const inherited = (user: unknown): Request => Object.create({ user }) as Request;

/** A request as a framework creates it, before authentication. */
const REQUESTS: [string, () => Request][] = [
  ['without a user', () => ({})],
  ['with a user that is null', () => ({ user: null })],
  ['whose prototype has a user that is null', () => inherited(null)],
];

describe.each(REQUESTS)('a function that returns the subject of a request %s', (_title, create) => {
  const run = (reader: (request: Request) => unknown) => {
    const request = create();
    const before = Object.getOwnPropertyDescriptor(request, 'user');
    const reads = new UserReads(request);
    const result = reads.during(reader, () => reader(request));
    return { request, before, reads, result };
  };

  it('has read the user, and leaves the request unchanged', () => {
    const reader = ({ user }: Request) => (user as { id?: unknown } | null | undefined)?.id ?? 'nobody';
    const { request, before, reads, result } = run(reader);
    expect(result).toBe('nobody');
    expect(reads.has(reader)).toBe(true);
    expect(Object.getOwnPropertyDescriptor(request, 'user')).toEqual(before);
    expect(Object.keys(request)).toEqual(before ? ['user'] : []);
  });

  it('has not read the user if it read another property', () => {
    const reader = (request: object) => Object.keys(request).length;
    expect(run(reader).reads.has(reader)).toBe(false);
  });

  it('has not missed the user if it authenticates the client itself', () => {
    const reader = (request: Request) => (request.user ??= { id: 7 });
    const { request, reads, result } = run(reader);
    expect(result).toEqual({ id: 7 });
    expect(Object.getOwnPropertyDescriptor(request, 'user')).toMatchObject({
      value: { id: 7 },
      writable: true,
    });
    expect(reads.has(reader)).toBe(false);
  });

  it('has not missed the user if it authenticates the client itself later', async () => {
    const reader = async (request: Request) => {
      if (request.user) return;
      await Promise.resolve();
      request.user = { id: 7 };
    };
    const { reads, result } = run(reader);
    expect(reads.has(reader)).toBe(true);
    await result;
    expect(reads.has(reader)).toBe(false);
  });

  it('leaves the request unchanged if it throws', () => {
    const request = create();
    const before = Object.getOwnPropertyDescriptor(request, 'user');
    const failing = (): never => {
      throw new Error('no session');
    };
    expect(() => new UserReads(request).during(failing, failing)).toThrow('no session');
    expect(Object.getOwnPropertyDescriptor(request, 'user')).toEqual(before);
  });
});

describe('a frozen request', () => {
  it('is read without recording', () => {
    const request: Request = Object.freeze({ user: null });
    const reads = new UserReads(request);
    expect(reads.during('reader', () => request.user)).toBeNull();
    expect(reads.has('reader')).toBe(false);
  });
});
