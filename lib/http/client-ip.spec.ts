import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { canonicalIp, ipSubject, ipSubjectOf } from './client-ip.js';
import type { HttpRequest } from './subject.js';

describe('canonicalIp', () => {
  it.each([
    ['203.0.113.7', '203.0.113.7'],
    ['0.0.0.0', '0.0.0.0'],
    ['255.255.255.255', '255.255.255.255'],
    ['::ffff:1.2.3.4', '1.2.3.4'],
    ['::FFFF:1.2.3.4', '1.2.3.4'],
    ['::ffff:102:304', '1.2.3.4'],
    ['0:0:0:0:0:ffff:0102:0304', '1.2.3.4'],
    ['::ffff:1.2.3.4%eth0', '1.2.3.4'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0DB8:0001:0002::', '2001:db8:1:2::/64'],
    ['2001:db8:0:1::1', '2001:db8:0:1::/64'],
    ['fe80::1%eth0', 'fe80::/64'],
    ['fe80::1%eth0.100', 'fe80::/64'],
    ['::1', '::/64'],
    ['64:ff9b::1.2.3.4', '1.2.3.4'],
    ['64:FF9B::102:304', '1.2.3.4'],
    ['0064:ff9b:0:0:0:0:0102:0304', '1.2.3.4'],
    ['64:ff9b::1.2.3.4%eth0', '1.2.3.4'],
  ])('returns for %s the canonical form %s', (address, expected) => {
    expect(canonicalIp(address)).toBe(expected);
  });

  it.each([
    ['203.0.113.1:4711', '203.0.113.1'],
    ['203.0.113.1:0', '203.0.113.1'],
    ['203.0.113.1:65535', '203.0.113.1'],
    ['::ffff:203.0.113.1:4711', '203.0.113.1'],
    ['[::ffff:203.0.113.1]:4711', '203.0.113.1'],
    ['[::ffff:cb00:7101]:4711', '203.0.113.1'],
    ['64:ff9b::1.2.3.4:80', '1.2.3.4'],
    ['[64:ff9b::102:304]:80', '1.2.3.4'],
    ['[2001:db8::1]:4711', '2001:db8::/64'],
    ['[2001:DB8::1]', '2001:db8::/64'],
    ['[fe80::1%eth0.100]:80', 'fe80::/64'],
    [`[${'0000:'.repeat(5)}ffff:255.255.255.255%${'z'.repeat(16)}]:65535`, '255.255.255.255'],
  ])('removes the port, as a proxy of Azure adds it: %s is %s', (address, expected) => {
    expect(canonicalIp(address)).toBe(expected);
  });

  it('does not treat the last group of an IPv6 address as a port', () => {
    expect(canonicalIp('2001:db8::4711', 128)).toBe('2001:db8::4711/128');
    expect(canonicalIp('2001:db8:1:2:3:4:5:80', 128)).toBe('2001:db8:1:2:3:4:5:80/128');
    expect(canonicalIp('::80', 128)).toBe('::80/128');
  });

  it('returns the same text for an address with and without a port', () => {
    const octet = fc.integer({ min: 0, max: 255 });
    const dotted = fc.tuple(octet, octet, octet, octet).map((octets) => octets.join('.'));
    const mapped = fc
      .tuple(fc.constantFrom('::ffff:', '::FFFF:', '64:ff9b::'), dotted)
      .map((all) => all.join(''));
    const zone = fc.constantFrom('', '%eth0', '%eth0.100');
    const v6 = fc.tuple(fc.ipV6(), zone).map((all) => all.join(''));
    const port = fc.integer({ min: 0, max: 65_535 });
    const bits = fc.integer({ min: 1, max: 128 });
    const unbracketed = fc.property(fc.oneof(dotted, mapped), port, bits, (address, at, prefix) => {
      expect(canonicalIp(`${address}:${at}`, prefix)).toBe(canonicalIp(address, prefix));
    });
    const bracketed = fc.property(fc.oneof(v6, mapped), port, bits, (address, at, prefix) => {
      const expected = canonicalIp(address, prefix);
      expect(expected).toBeDefined();
      expect(canonicalIp(`[${address}]:${at}`, prefix)).toBe(expected);
      expect(canonicalIp(`[${address}]`, prefix)).toBe(expected);
    });
    fc.assert(unbracketed, { numRuns: 1000 });
    fc.assert(bracketed, { numRuns: 1000 });
  });

  it('returns the same text for all addresses of an IPv6 network', () => {
    const addresses = Array.from(
      { length: 1000 },
      (_, n) => `2001:db8:1:2:${n.toString(16)}::${(n * 61).toString(16)}`,
    );
    expect(new Set(addresses.map((address) => canonicalIp(address)))).toEqual(new Set(['2001:db8:1:2::/64']));
    expect(canonicalIp('2001:db8:1:3::1')).toBe('2001:db8:1:3::/64');
  });

  it.each([
    [128, '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff/128'],
    [121, '2001:db8:ffff:ffff:ffff:ffff:ffff:ff80/121'],
    [56, '2001:db8:ffff:ff00::/56'],
    [48, '2001:db8:ffff::/48'],
    [33, '2001:db8:8000::/33'],
    [1, '::/1'],
  ])('masks to the bit with a prefix of %d', (prefix, expected) => {
    expect(canonicalIp('2001:db8:ffff:ffff:ffff:ffff:ffff:ffff', prefix)).toBe(expected);
  });

  it('converts IPv4-mapped IPv6 to IPv4 before it masks, so that IPv4 clients do not share a counter', () => {
    expect(canonicalIp('::ffff:102:304', 32)).toBe('1.2.3.4');
    expect(canonicalIp('64:ff9b::102:304', 32)).toBe('1.2.3.4');
  });

  it('returns the IPv4 address of a client behind NAT64', () => {
    const clients = Array.from({ length: 256 }, (_, n) => `203.0.113.${n}`);
    expect(clients.map((client) => canonicalIp(`64:ff9b::${client}`))).toEqual(clients);
  });

  it('does not convert other IPv6 addresses with a dotted tail to IPv4', () => {
    expect(canonicalIp('::1.2.3.4', 128)).toBe('::102:304/128');
    expect(canonicalIp('::fffe:1.2.3.4', 128)).toBe('::fffe:102:304/128');
    expect(canonicalIp('::ffff:0:1.2.3.4', 128)).toBe('::ffff:0:102:304/128');
    // The local-use prefix of NAT64 (RFC 8215) has no fixed length; its users configure `by`.
    expect(canonicalIp('64:ff9b:1::1.2.3.4', 128)).toBe('64:ff9b:1::102:304/128');
    expect(canonicalIp('64:ff9b::1:102:304', 128)).toBe('64:ff9b::1:102:304/128');
  });

  it.each([
    ...['127.1', '0x7f.0.0.1', '2130706433', '010.0.0.1', '1.2.3.04', '256.0.0.1', '1.2.3', '1.2.3.4.5'],
    ...[
      '1.2.3.',
      '.1.2.3',
      '1..2.3',
      '1.2.3.4 ',
      ' 1.2.3.4',
      '1.2.3.4\n',
      '1.2.3.4\0',
      '-1.2.3.4',
      '１.2.3.4',
    ],
    ...[
      '1.2.3.4:',
      '1.2.3.4:65536',
      '1.2.3.4:123456',
      '1.2.3.4:8a',
      '1.2.3.4:+80',
      '1.2.3.4: 80',
      '1.2.3.4:80:80',
      '1.2.3:80',
      '[1.2.3.4]',
      '[1.2.3.4]:80',
      '[::1',
      '::1]',
      '[::1]80',
      '[::1]:',
      '[::1]:65536',
      '[::1]:80]',
      '[[::1]]:80',
      '[]:80',
      '[::1]:80:80',
      '1.2.3.4/32',
      '::1/128',
      '1.2.3.4%eth0',
      'fe80::1%',
      'fe80::1%a%b',
    ],
    ...['::ffff:010.0.0.1', '::ffff:1.2.3', '::ffff:0x1.2.3.4', '::ffff:256.1.1.1', '1.2.3.4::'],
    ...[':', ':::', '1::2::3', '1:2:3:4:5:6:7', '1:2:3:4:5:6:7:8:9', '1:2:3:4:5:6:7:', '12345::', '::g'],
    ...['', 'localhost', 'unknown', '__proto__', 'constructor', '1.2.3.4, 5.6.7.8'],
  ])('rejects %j, which other parsers may read differently', (address) => {
    expect(canonicalIp(address)).toBeUndefined();
  });

  it('rejects megabytes of text without parsing them', () => {
    for (const unit of ['1', '1.', '::', '1:', '%', '[', ']', '[::1]:', '::ffff:', '1.2.3.4:']) {
      expect(canonicalIp(unit.repeat(2_000_000))).toBeUndefined();
    }
  });

  it('returns undefined without an address', () => {
    expect(canonicalIp(undefined)).toBeUndefined();
  });
});

describe('ipSubject', () => {
  it.each<[string, HttpRequest, string | undefined]>([
    ['the ip of the request', { ip: '::ffff:102:304', socket: { remoteAddress: '10.0.0.1' } }, '1.2.3.4'],
    ['the peer without an ip', { socket: { remoteAddress: '::ffff:10.0.0.1' } }, '10.0.0.1'],
    ['the peer if the ip is no address', { ip: 'evil', socket: { remoteAddress: '10.0.0.1' } }, '10.0.0.1'],
    ['undefined without either', {}, undefined],
    [
      'undefined once the socket is closed',
      { ip: undefined, socket: { remoteAddress: undefined } },
      undefined,
    ],
  ])('returns %s', (_, request, expected) => {
    expect(ipSubject()(request)).toBe(expected);
  });

  it('ignores X-Forwarded-For and similar headers', () => {
    const headers = { 'x-forwarded-for': '6.6.6.6', 'x-real-ip': '6.6.6.6', forwarded: 'for=6.6.6.6' };
    expect(ipSubject()({ ip: '1.2.3.4', headers })).toBe('1.2.3.4');
    expect(ipSubject()({ headers })).toBeUndefined();
  });

  it('masks IPv6 to the configured prefix, 64 bits by default', () => {
    expect(ipSubject()({ ip: '2001:db8:1:2::1' })).toBe('2001:db8:1:2::/64');
    expect(ipSubject(48)({ ip: '2001:db8:1:2::1' })).toBe('2001:db8:1::/48');
  });
});

describe('ipSubjectOf', () => {
  it.each([
    ['203.0.113.7', '203.0.113.7'],
    ['203.0.113.7:80', '203.0.113.7'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['2001:DB8:1:2::1', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::/64', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::/48', undefined],
    ['203.0.113.7/64', undefined],
    ['ann', undefined],
  ])('returns the subject of a request from this address: %s', (text, expected) => {
    expect(ipSubjectOf(text)).toBe(expected);
    if (expected !== undefined) {
      expect(ipSubjectOf(expected)).toBe(expected);
      if (!text.includes('/')) expect(ipSubject()({ ip: text })).toBe(expected);
    }
  });

  it('masks IPv6 to the prefix of the rule', () => {
    expect(ipSubjectOf('2001:db8:1:2::1', 48)).toBe('2001:db8:1::/48');
    expect(ipSubjectOf('2001:db8:1::/48', 48)).toBe('2001:db8:1::/48');
  });
});
