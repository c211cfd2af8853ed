import ipaddr from 'ipaddr.js';
import { dottedQuad, parseClientIp, parseIp, type IpAddress } from './ip-address.js';

/**
 * One spelling for each client: an IPv4 address, or the IPv6 network that a client has to itself.
 * `undefined` if the text is no IP address.
 *
 * IPv4-mapped IPv6 is IPv4, and so is IPv4 behind NAT64 (`64:ff9b::/96`): `::ffff:102:304` and
 * `64:ff9b::102:304` are `1.2.3.4`. Other IPv6 is the network, such as
 * `2001:db8:1:2::/64`, since a client can choose any address in it. A port behind the address and brackets
 * around it are dropped.
 *
 * @param ipv6Prefix how many leading bits are the network, an integer from 1 to 128
 */
export function canonicalIp(address: string | undefined, ipv6Prefix = 64): string | undefined {
  if (typeof address !== 'string') return undefined;
  const dotted = dottedQuad(address);
  if (dotted !== undefined) return dotted;
  const ip = parseClientIp(address);
  return ip instanceof ipaddr.IPv6 ? `${network(ip, ipv6Prefix).toString()}/${ipv6Prefix}` : ip?.toString();
}

function network({ parts }: ipaddr.IPv6, bits: number): ipaddr.IPv6 {
  return new ipaddr.IPv6(parts.map((part, index) => part & maskOf(bits - 16 * index)));
}

/** The mask of a 16-bit part of which so many leading bits count. */
function maskOf(bits: number): number {
  return 0xffff & (0xffff << (16 - Math.min(16, Math.max(0, bits))));
}

/** Tells whether an address is in a list of addresses and ranges. */
export interface IpRanges {
  /** False for what is no IP address. Takes an address as it came, with or without a port, not masked. */
  contains(address: string | undefined): boolean;
}

type Range = readonly [network: IpAddress, bits: number];

const ALLOWED =
  'an IP address or a CIDR range, such as "203.0.113.7", "10.0.0.0/8" or "2001:db8::/32", without zone id or port';

/**
 * Makes a list of IP addresses and CIDR ranges ready to match against. Host bits in a range do not
 * matter: `10.0.0.1/8` is `10.0.0.0/8`. IPv4-mapped IPv6 is IPv4, so `::ffff:10.0.0.0/104` is, too, and
 * IPv4 behind NAT64.
 *
 * @throws RangeError if an entry is neither an address nor a range
 */
export function parseRanges(entries: readonly string[]): IpRanges {
  const ranges = entries.map(parseRange);
  return {
    contains(address) {
      const ip = typeof address === 'string' ? parseClientIp(address) : undefined;
      return ip !== undefined && ranges.some((range) => isIn(ip, range));
    },
  };
}

function isIn(ip: IpAddress, [base, bits]: Range): boolean {
  return ip.kind() === base.kind() && ip.match(base, bits);
}

function parseRange(entry: string): Range {
  const range = typeof entry === 'string' && !entry.includes('%') ? toRange(entry) : undefined;
  if (range === undefined) throw new RangeError(`got ${JSON.stringify(entry)}; allowed: ${ALLOWED}`);
  return range;
}

/** `undefined` also for a range of IPv4 in IPv6 of fewer than 96 bits, which would reach beyond IPv4. */
function toRange(entry: string): Range | undefined {
  const slash = entry.indexOf('/');
  const text = slash < 0 ? entry : entry.slice(0, slash);
  const ip = parseIp(text);
  if (ip === undefined) return undefined;
  const width = ip.kind() === 'ipv4' ? 32 : 128;
  const spelled = text.includes(':') ? 128 : 32;
  const bits = (slash < 0 ? spelled : prefixLength(entry.slice(slash + 1))) - (spelled - width);
  return bits >= 0 && bits <= width ? [ip, bits] : undefined;
}

function prefixLength(text: string): number {
  return /^(0|[1-9]\d{0,2})$/.test(text) ? Number(text) : NaN;
}
