import { isIPv4, isIPv6 } from 'node:net';

/**
 * An IP address: IPv4 as text, IPv6 as eight 16-bit groups. IPv4-mapped IPv6 and IPv4 behind NAT64 are converted to
 * IPv4.
 */
export type IpAddress = string | readonly number[];

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

/** Returns the RFC 5952 text of an IPv6 address. */
export function textOf(groups: readonly number[]): string {
  return canonical(groups.map((group) => group.toString(16)).join(':'));
}

function canonical(ipv6: string): string {
  return new URL(`http://[${ipv6}]`).hostname.slice(1, -1);
}

/** Removes the zone id, as in `fe80::1%eth0`, if it has only characters that RFC 6874 allows. */
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
