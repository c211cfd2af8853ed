import { describe, expect, it } from '@jest/globals';
import { readerFor, type Format } from './formats.js';
import type { LoggedRequest } from './log-fields.js';

const TIME = Date.UTC(2025, 9, 10, 20, 55, 36) * 1000;
const COMBINED =
  '203.0.113.7 - ann lee [10/Oct/2025:13:55:36 -0700] "GET /a?b=1 HTTP/1.1" 200 12 "https://x/" "say \\"hi\\""';

function read(lines: string[], by = 'ip', map: Record<string, string> = {}, format?: Format) {
  const { read } = readerFor('a.log', lines, { by: by.split(','), map, format });
  return read(lines[0]!) ?? read(lines[1]!);
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

  it.each([
    '',
    'x',
    'x [',
    '[] ',
    '1.2.3.4 - - [32/Oct/2025:13:55:36 -0700] "GET / HTTP/1.1"',
    '1.2.3.4 - - [30/Feb/2024:13:55:36 -0700] "GET / HTTP/1.1"',
  ])('is malformed: %j', (line) => {
    expect(typeof read([line], 'ip', {}, 'combined')).toBe('string');
  });

  it.each([
    ['May', 'ip: got "May"; allowed: an IP address'],
    ['shop.example', 'ip: got "shop.example"; allowed: an IP address'],
  ])('is malformed with %s in place of the address', (word, reason) => {
    expect(read([COMBINED.replace('203.0.113.7', word)])).toBe(reason);
    expect(read([COMBINED.replace('203.0.113.7', word)], 'ip,path')).toBe(reason);
    expect(read([COMBINED.replace('203.0.113.7', word)], 'path')).toMatchObject({ subject: '/a' });
  });

  it('has a short subject that differs from that of other long values', () => {
    const subjects = ['x', 'y'].map((end) => {
      const line = COMBINED.replace('/a?', `/${'a'.repeat(100_000)}${end}?`);
      return (read([line], 'path') as LoggedRequest).subject!;
    });
    expect(new Set(subjects).size).toBe(2);
    expect(subjects.map((subject) => subject.length)).toEqual([289, 289]);
  });

  it('has no other fields', () => {
    expect(() => read([COMBINED], 'tenant')).toThrow(
      '--by: got "tenant"; allowed: ip, path, method, user, referer',
    );
  });
});

describe('a line of JSON', () => {
  it.each([
    ['ip', {}, '{"time":"2025-10-10T20:55:36Z","ip":"::ffff:1.2.3.4"}', '1.2.3.4'],
    ['ip', { ip: 'client.addr', time: 'ts' }, `{"client":{"addr":"1.2.3.4"},"ts":${TIME / 1e6}}`, '1.2.3.4'],
    ['x-key', {}, `{"ts":${TIME / 1e3},"request":{"headers":{"X-Key":["k"]}}}`, 'k'],
    ['tenant.id', {}, '{"time":"2025-10-10 13:55:36.000-07:00","tenant.id":7}', '7'],
    ['user', {}, '{"time":"2025-10-10T20:55:36","ip":"1.2.3.4"}', undefined],
  ])('has the subject %s', (by, map, line, subject) => {
    expect(read([line], by, map as unknown as Record<string, string>)).toEqual({ time: TIME, subject });
  });

  it.each(['{', '[]', 'null', '{"ip":"1.2.3.4"}', '{"time":"yesterday"}'])('is malformed: %s', (line) => {
    expect(typeof read([line], 'ip', {}, 'json')).toBe('string');
  });

  it('is malformed with a day that its month does not have', () => {
    const on = (day: string) => read([`{"time":"${day}T23:00:00-05:00","ip":"1.2.3.4"}`]);
    for (const day of ['2024-02-30', '2025-02-29', '2025-04-31']) expect(on(day)).toMatch(day);
    for (const day of ['2024-02-29', '2025-03-31'])
      expect(on(day)).toMatchObject({ time: Date.parse(`${day}T23:00:00-05:00`) * 1000 });
  });

  it('names the field that has no address', () => {
    expect(read(['{"time":1760000000,"client":{"ip":"gateway"}}'])).toBe(
      'client.ip: got "gateway"; allowed: an IP address',
    );
  });

  it('has the last public address of a list as its client, since a client can forge those before it', () => {
    const map = { ip: 'request.headers.X-Forwarded-For' };
    const line = (list: string) =>
      `{"time":"2025-10-10T20:55:36Z","request":{"headers":{"X-Forwarded-For":["${list}"]}}}`;
    expect(read([line('6.6.6.6, 203.0.113.7, 10.0.0.3')], 'ip', map)).toMatchObject({
      subject: '203.0.113.7',
    });
    expect(read([line('10.0.0.7, 10.0.0.3')], 'ip', map)).toMatchObject({ subject: '10.0.0.7' });
    expect(read([line('unknown, 10.0.0.3')], 'ip', map)).toContain('allowed: an IP address');
  });
});

describe('a line of CSV', () => {
  it('has the columns of the header, and quotes', () => {
    const lines = ['Time;User;Note', `${TIME / 1e6};"ann ""a"" lee";"a;b"`];
    expect(read(lines, 'user')).toEqual({ time: TIME, subject: 'ann "a" lee' });
    expect(read(lines, 'note')).toEqual({ time: TIME, subject: 'a;b' });
  });

  it('is malformed with another number of cells', () => {
    expect(typeof read(['time,ip', '1,2,3'])).toBe('string');
  });

  it('needs the columns', () => {
    expect(() => read(['when,addr,size', `${TIME / 1e6},203.0.113.7,12`])).toThrow(
      'no column "time"; the log has the fields when, addr, size; write --map time=when',
    );
    expect(() => read(['time,addr', '1,203.0.113.7'])).toThrow('write --map ip=addr');
  });
});

describe('a log of no known format', () => {
  it('is rejected with its first line', () => {
    expect(() => read(['hello world'])).toThrow('a.log: no known format; its first line is "hello world"');
  });
});
