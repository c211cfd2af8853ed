import { isIPv4, isIPv6, BlockList } from 'node:net';
import type { HttpRequest } from './subject.js';

/**
 * An IP address: IPv4 as text, IPv6 as eight 16-bit groups. IPv4-mapped IPv6 and IPv4 behind NAT64 are converted to
 * IPv4.
 */
type IpAddress = string | readonly number[];

/** Maximum length: IPv6 with a dotted tail takes 45 characters, a zone id up to 16. */
const LONGEST = 64;

/** A port takes 6 characters including its colon, brackets take 2. */
const LONGEST_WITH_PORT = LONGEST + 8;

/**
 * Parses an address as proxies and frameworks write it: alone, or with a port. Returns `undefined` for any
 * other text.
 *
 * The forms with a port are `203.0.113.1:4711`, `::ffff:203.0.113.1:4711` and `[2001:db8::1]:4711`. Brackets may also
 * occur without a port. `2001:db8::4711` has no port: without brackets, only a dotted tail marks the end of an IPv6
 * address.
 */
function parseClientIp(text: string): IpAddress | undefined {
  if (text.length > LONGEST_WITH_PORT) return undefined;
  const bracketed = /^\[([^\]]*:[^\]]*)\](?::(\d{1,5}))?$/.exec(text);
  const dotted = bracketed ?? /^([^[]*\.\d+):(\d{1,5})$/.exec(text);
  if (!dotted) return parseIp(text);
  const [, address, port = '0'] = dotted;
  return Number(port) <= 65_535 ? parseIp(address!) : undefined;
}

/**
 * Parses an address without port or brackets. Returns `undefined` for any other text.
 *
 * IPv4 is four decimal octets without leading zeros and nothing else, since parsers disagree about `010.1` and
 * `127.1`. An IPv6 zone id is dropped.
 */
function parseIp(text: string): IpAddress | undefined {
  if (text.length > LONGEST) return undefined;
  if (isIPv4(text)) return text;
  // Without the zone id, as in `fe80::1%eth0`, if it has only characters that RFC 6874 allows.
  const address = text.replace(/%[\w.~-]+$/, '');
  if (address.includes('%') || !isIPv6(address)) return undefined;
  return unmapped(groupsOf(address.includes('.') ? canonical(address) : address));
}

/** Returns the RFC 5952 text of an IPv6 address. */
function textOf(groups: readonly number[]): string {
  return canonical(groups.map((group) => group.toString(16)).join(':'));
}

function canonical(ipv6: string): string {
  return new URL(`http://[${ipv6}]`).hostname.slice(1, -1);
}

function groupsOf(hex: string): number[] {
  const [before = [], after] = hex
    .split('::')
    .map((part) => (part === '' ? [] : part.split(':').map((group) => parseInt(group, 16))));
  if (!after) return before;
  return [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after];
}

/**
 * The 96 bits before an IPv4 address: `::ffff:0:0/96` for IPv4-mapped IPv6, and the well-known prefix of NAT64,
 * `64:ff9b::/96` (RFC 6052), through which IPv4 clients reach an IPv6-only server.
 */
const IPV4_PREFIXES = [
  [0, 0, 0, 0, 0, 0xffff],
  [0x64, 0xff9b, 0, 0, 0, 0],
];

function unmapped(groups: readonly number[]): IpAddress {
  if (!IPV4_PREFIXES.some((prefix) => prefix.every((group, index) => group === groups[index]))) return groups;
  return groups
    .slice(6)
    .flatMap((group) => [group >> 8, group & 0xff])
    .join('.');
}

/**
 * Returns a function that returns the canonical IP of a request's client; `undefined` if it is unknown.
 *
 * It never reads `X-Forwarded-For`, which a client can forge: the framework reads it if it trusts the proxies. If `ip`
 * is no IP address, the address of the peer is used, so that no client evades the limit with an invalid address.
 *
 * @param ipv6Prefix number of leading bits that are the network, an integer from 1 to 128
 */
export function ipSubject(ipv6Prefix = 64): (request: HttpRequest) => string | undefined {
  return ({ ip, socket }) => canonicalIp(ip, ipv6Prefix) ?? canonicalIp(socket?.remoteAddress, ipv6Prefix);
}

/**
 * Returns a function that returns the canonical IP in a header; `undefined` if the header is missing or no IP address.
 *
 * @param name in lower case
 * @param ipv6Prefix number of leading bits that are the network, an integer from 1 to 128
 */
export function headerIpSubject(name: string, ipv6Prefix = 64): (request: HttpRequest) => string | undefined {
  return ({ headers }) => {
    const value = headers !== undefined && Object.hasOwn(headers, name) ? headers[name] : undefined;
    return canonicalIp(typeof value === 'string' ? value.trim() : undefined, ipv6Prefix);
  };
}

/**
 * Returns the subject for a text that a program passes to a rule with `by: 'ip'`; `undefined` if it is no IP address. A
 * masked network, as in events (`2001:db8:1:2::/64`), is returned unchanged.
 */
export function ipSubjectOf(text: string, ipv6Prefix = 64): string | undefined {
  const mask = `/${ipv6Prefix}`;
  const isMasked = text.endsWith(mask) && text.includes(':');
  return canonicalIp(isMasked ? text.slice(0, -mask.length) : text, ipv6Prefix);
}

/**
 * Returns one text per client: an IPv4 address, or the IPv6 network that belongs to one client; `undefined` if the text
 * is no IP address.
 *
 * IPv4-mapped IPv6 and IPv4 behind NAT64 (`64:ff9b::/96`) are IPv4: `::ffff:102:304` and `64:ff9b::102:304` are
 * `1.2.3.4`. Any other IPv6 address is masked to its network, such as `2001:db8:1:2::/64`, since a client can use any
 * address in it. A port and brackets are removed.
 *
 * @param ipv6Prefix number of leading bits that are the network, an integer from 1 to 128
 */
export function canonicalIp(address: string | undefined, ipv6Prefix = 64): string | undefined {
  if (typeof address !== 'string') return undefined;
  // The two most frequent forms: a dual-stack socket adds `::ffff:` to IPv4.
  const dotted = address.startsWith('::ffff:') ? address.slice(7) : address;
  if (dotted.length <= 15 && isIPv4(dotted)) return dotted;
  const ip = parseClientIp(address);
  if (typeof ip !== 'object') return ip;
  const network = ip.map((group, index) => group & maskOf(ipv6Prefix - 16 * index));
  return `${textOf(network)}/${ipv6Prefix}`;
}

/** Returns the mask of the leading bits of a 16-bit group. */
function maskOf(bits: number): number {
  return 0xffff & (0xffff << (16 - Math.min(16, Math.max(0, bits))));
}

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
