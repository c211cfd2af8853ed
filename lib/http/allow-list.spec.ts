import { describe, expect, it } from '@jest/globals';
import { allowListOf, isAllowList } from './client-ip.js';

describe('allowListOf', () => {
  const isAllowed = allowListOf([
    '203.0.113.7',
    '10.9.8.7/8',
    '2001:db8::/33',
    '::1',
    '::ffff:192.168.0.0/112',
  ]);

  it.each([
    ['203.0.113.7', true],
    ['203.0.113.8', false],
    ['::ffff:203.0.113.7', true],
    ['10.0.0.0', true],
    ['10.255.255.255', true],
    ['11.0.0.0', false],
    ['::ffff:a00:1', true],
    ['64:ff9b::10.1.2.3', true],
    ['64:ff9b::11.1.2.3', false],
    ['192.168.255.1', true],
    ['192.169.0.1', false],
    ['2001:db8:7fff::1', true],
    ['2001:db8:8000::1', false],
    ['::1', true],
    ['::1%lo', true],
    ['203.0.113.7:4711', true],
    ['[::1]:4711', true],
    ['[::2]:4711', false],
    ['203.0.113.8:4711', false],
    ['::2', false],
    ['::10.0.0.1', false],
    ['10.1', false],
    ['not an address', false],
    ['', false],
    [undefined, false],
  ])('matches only the addresses and ranges of the list: %s, %s', (address, expected) => {
    expect(isAllowed({ ip: address })).toBe(expected);
  });

  it.each([
    ['0.0.0.0/0', '203.0.113.7', true],
    ['0.0.0.0/0', '::1', false],
    ['::/0', '2001:db8::1', true],
    ['::/0', '203.0.113.7', false],
    ['::ffff:0:0/96', '203.0.113.7', true],
    ['::ffff:0:0/96', '::1', false],
    ['64:ff9b::203.0.113.0/120', '203.0.113.7', true],
    ['64:ff9b::/96', '64:ff9b::203.0.113.7', true],
  ])('matches %s only with addresses of its family: %s, %s', (range, address, expected) => {
    expect(allowListOf([range])({ ip: address })).toBe(expected);
  });

  it('matches no address with an empty list', () => {
    expect(allowListOf([])({ ip: '127.0.0.1' })).toBe(false);
  });
});

describe('isAllowList', () => {
  it.each([
    ...[
      '',
      '10',
      '10.0.0.0/33',
      '10.0.0.0/',
      '10.0.0.0/08',
      '10.0.0.0/+8',
      '10.0.0.0/-1',
      '10.0.0.0/8/8',
      '010.0.0.0/8',
    ],
    ...[
      '10.0.0.0/255.0.0.0',
      '::/129',
      '::ffff:10.0.0.0/95',
      '64:ff9b::/64',
      'fe80::1%eth0',
      'localhost',
      '10.0.0.1:80',
      ' 10.0.0.1',
    ],
  ])('rejects a list with the entry %j', (entry) => {
    expect(isAllowList(['127.0.0.1'])).toBe(true);
    expect(isAllowList(['127.0.0.1', entry])).toBe(false);
  });

  it('rejects a list with an entry that is no string', () => {
    expect(isAllowList([10])).toBe(false);
  });
});
