import { isIPv4, isIPv6 } from 'node:net';

/**
 * An address of its real family: IPv4 as text, IPv6 as its eight 16-bit groups. IPv4-mapped IPv6 is IPv4, and so is
 * IPv4 behind NAT64.
 */
export type IpAddress = string | readonly number[];

/** IPv6 with a dotted tail takes 45 characters, a zone id 16: a longer text is not parsed. */
const LONGEST = 64;

/** A port takes 6 characters with its colon, and brackets 2. */
const LONGEST_WITH_PORT = LONGEST + 8;

/**
 * Parses an address as proxies and frameworks write it: alone, or with a port. Returns `undefined` for any
 * other text.
 *
 * The forms with a port are `203.0.113.1:4711`, `::ffff:203.0.113.1:4711` and `[2001:db8::1]:4711`;
 * brackets may also stand without a port. `2001:db8::4711` has no port: outside brackets, only a dotted
 * tail shows where an IPv6 address ends.
 */
export function parseClientIp(text: string): IpAddress | undefined {
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
export function parseIp(text: string): IpAddress | undefined {
  if (text.length > LONGEST) return undefined;
  if (isIPv4(text)) return text;
  const address = withoutZone(text);
  if (address.includes('%') || !isIPv6(address)) return undefined;
  return unmapped(groupsOf(address.includes('.') ? canonical(address) : address));
}

/** The RFC 5952 text of an IPv6 address. */
export function textOf(groups: readonly number[]): string {
  return canonical(groups.map((group) => group.toString(16)).join(':'));
}

function canonical(ipv6: string): string {
  return new URL(`http://[${ipv6}]`).hostname.slice(1, -1);
}

/** `fe80::1%eth0` without the zone, of the characters that RFC 6874 allows in one. */
function withoutZone(text: string): string {
  return text.replace(/%[\w.~-]+$/, '');
}

function groupsOf(hex: string): number[] {
  const [before = [], after] = hex
    .split('::')
    .map((part) => (part === '' ? [] : part.split(':').map((group) => parseInt(group, 16))));
  if (!after) return before;
  return [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after];
}

/**
 * The 96 bits in front of an IPv4 address: `::ffff:0:0/96` if it is mapped, and the well-known prefix of NAT64,
 * `64:ff9b::/96` (RFC 6052), through which an IPv6-only server is reached over IPv4.
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
