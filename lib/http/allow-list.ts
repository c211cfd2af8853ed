import { BlockList } from 'node:net';
import { parseClientIp, parseIp, textOf, type IpAddress } from './ip-address.js';
import type { HttpRequest } from './subject.js';

/** Whether a value is a list of IP addresses and CIDR ranges. */
export function isAllowList(value: unknown): boolean {
  return Array.isArray(value) && value.every((entry) => rangeOf(entry) !== undefined);
}

/**
 * Returns a function that checks whether a request comes from one of the addresses and ranges. Host bits in a range are
 * ignored: `10.0.0.1/8` is `10.0.0.0/8`. IPv4-mapped IPv6, such as `::ffff:10.0.0.0/104`, and IPv4 behind NAT64 are
 * converted to IPv4.
 *
 * @param entries a list that `isAllowList` accepts
 */
export function allowListOf(entries: readonly string[]): (request: HttpRequest) => boolean {
  const lists = { ipv4: new BlockList(), ipv6: new BlockList() };
  for (const entry of entries) {
    const [ip, bits] = rangeOf(entry)!;
    lists[familyOf(ip)].addSubnet(addressOf(ip), bits, familyOf(ip));
  }
  return ({ ip, socket }) => {
    const text = ip ?? socket?.remoteAddress;
    const address = typeof text === 'string' ? parseClientIp(text) : undefined;
    return address !== undefined && lists[familyOf(address)].check(addressOf(address), familyOf(address));
  };
}

/** Parses an entry. Also returns `undefined` for a prefix below 96 bits of IPv4 in IPv6, which would include more. */
function rangeOf(entry: unknown): readonly [IpAddress, number] | undefined {
  if (typeof entry !== 'string' || entry.includes('%')) return undefined;
  const [, text = '', length] = /^([^/]*)(?:\/(0|[1-9]\d{0,2}))?$/.exec(entry) ?? [];
  const ip = parseIp(text);
  if (ip === undefined) return undefined;
  const width = typeof ip === 'string' ? 32 : 128;
  const written = text.includes(':') ? 128 : 32;
  const bits = (length === undefined ? written : Number(length)) - (written - width);
  return bits >= 0 && bits <= width ? [ip, bits] : undefined;
}

function familyOf(ip: IpAddress): 'ipv4' | 'ipv6' {
  return typeof ip === 'string' ? 'ipv4' : 'ipv6';
}

function addressOf(ip: IpAddress): string {
  return typeof ip === 'string' ? ip : textOf(ip);
}
