import { describe, expect, it } from '@jest/globals';
import { readerFor, type Format } from './formats.js';

const TIME = Date.UTC(2025, 9, 10, 20, 55, 36) * 1000;
const COMBINED =
  '203.0.113.7 - ann lee [10/Oct/2025:13:55:36 -0700] "GET /a?b=1 HTTP/1.1" 200 12 "https://x/" "say \\"hi\\""';

function read(lines: string[], by = 'ip', map: Record<string, string> = {}, format?: Format) {
  const { read, hasHeader } = readerFor('a.log', lines, { by: by.split(','), map }, format);
  return read(lines[hasHeader ? 1 : 0]!);
}

describe('a line of the combined format', () => {
  it.each([
    ['ip', '203.0.113.7'],
    ['user', 'ann lee'],
    ['path', '/a'],
    ['user-agent', 'say \\"hi\\"'],
    ['ip,path', '203.0.113.7, /a'],
    ['everyone', 'everyone'],
  ])('has the subject %s', (by, subject) => {
    expect(read([COMBINED], by)).toEqual({ time: TIME, subject });
  });

  it('has no subject where the server wrote -', () => {
    expect(read([COMBINED.replace('ann lee', '-')], 'user')).toEqual({ time: TIME, subject: undefined });
  });

  it('has the network of an IPv6 address as its subject', () => {
    expect(read([COMBINED.replace('203.0.113.7', '2001:db8::7')])).toMatchObject({
      subject: '2001:db8::/64',
    });
  });

  it.each(['', 'x', 'x [', '[] ', '1.2.3.4 - - [32/Oct/2025:13:55:36 -0700] "GET / HTTP/1.1"'])(
    'is malformed: %j',
    (line) => {
      expect(read([line], 'ip', {}, 'combined')).toBeUndefined();
    },
  );

  it('has a short subject that differs from that of other long values', () => {
    const subjects = ['x', 'y'].map(
      (end) => read([COMBINED.replace('/a?', `/${'a'.repeat(100_000)}${end}?`)], 'path')!.subject!,
    );
    expect(new Set(subjects).size).toBe(2);
    expect(subjects.map((subject) => subject.length)).toEqual([289, 289]);
  });

  it('has no other fields', () => {
    expect(() => read([COMBINED], 'tenant')).toThrow('--by: got "tenant"; allowed: ip, user, path');
  });
});

describe('a line of JSON', () => {
  it.each([
    ['ip', {}, '{"time":"2025-10-10T20:55:36Z","ip":"::ffff:1.2.3.4"}', '1.2.3.4'],
    ['ip', { ip: 'client.addr', time: 'ts' }, `{"client":{"addr":"h"},"ts":${TIME / 1e6}}`, 'h'],
    ['x-key', {}, `{"ts":${TIME / 1e3},"request":{"headers":{"X-Key":["k"]}}}`, 'k'],
    ['tenant.id', {}, '{"time":"2025-10-10 13:55:36.000-07:00","tenant.id":7}', '7'],
    ['user', {}, '{"time":"2025-10-10T20:55:36","ip":"1.2.3.4"}', undefined],
  ])('has the subject %s', (by, map, line, subject) => {
    expect(read([line], by, map as unknown as Record<string, string>)).toEqual({ time: TIME, subject });
  });

  it.each(['{', '[]', 'null', '{"ip":"1.2.3.4"}', '{"time":"yesterday"}'])('is malformed: %s', (line) => {
    expect(read([line], 'ip', {}, 'json')).toBeUndefined();
  });
});

describe('a line of CSV', () => {
  it('has the columns of the header, and quotes', () => {
    const lines = ['Time;User;Note', `${TIME / 1e6};"ann ""a"" lee";"a;b"`];
    expect(read(lines, 'user')).toEqual({ time: TIME, subject: 'ann "a" lee' });
    expect(read(lines, 'note')).toEqual({ time: TIME, subject: 'a;b' });
  });

  it('is malformed with another number of cells', () => {
    expect(read(['time,ip', '1,2,3'])).toBeUndefined();
  });

  it('needs the columns', () => {
    expect(() => read(['time,addr', '1,2'])).toThrow(
      'the column of ip: got "ip": write --map ip=<column>; allowed: the columns of the header: time, addr',
    );
  });
});

describe('a log of no known format', () => {
  it('is rejected with its first line', () => {
    expect(() => read(['hello world'])).toThrow('a.log: no known format; its first line is "hello world"');
  });
});
