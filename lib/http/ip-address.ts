import ipaddr from 'ipaddr.js';

/** An address as bits, of the family it really is: IPv4-mapped IPv6 is IPv4, and so is IPv4 behind NAT64. */
export type IpAddress = ipaddr.IPv4 | ipaddr.IPv6;

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
  if (text.startsWith('[')) return parseBracketed(text);
  const colon = text.lastIndexOf(':');
  const dot = text.lastIndexOf('.');
  if (dot < 0 || colon < dot) return parseIp(text);
  return isPort(text.slice(colon + 1)) ? parseIp(text.slice(0, colon)) : undefined;
}

/** Brackets are for IPv6 only. */
function parseBracketed(text: string): IpAddress | undefined {
  const end = text.indexOf(']');
  const inside = text.slice(1, end);
  const behind = text.slice(end + 1);
  if (end < 0 || !inside.includes(':')) return undefined;
  if (behind !== '' && !(behind.startsWith(':') && isPort(behind.slice(1)))) return undefined;
  return parseIp(inside);
}

/** Whether a text is 1 to 5 digits and at most 65535. */
function isPort(text: string): boolean {
  if (text.length === 0 || text.length > 5) return false;
  for (let index = 0; index < text.length; index += 1) {
    const digit = text.charCodeAt(index) - 48;
    if (digit < 0 || digit > 9) return false;
  }
  return Number(text) <= 65_535;
}

/**
 * The address that a text spells, `undefined` if it spells none.
 *
 * IPv4 is four decimal octets without leading zeros and nothing else, since what parsers make of
 * `010.1` or `127.1` differs. An IPv6 zone id is dropped. Brackets and ports are not part of an address.
 */
export function parseIp(text: string): IpAddress | undefined {
  if (text.length > LONGEST) return undefined;
  const dotted = dottedQuad(text);
  if (dotted !== undefined) return new ipaddr.IPv4(dotted.split('.').map(Number));
  const hex = text.includes(':') ? hexOnly(withoutZone(text)) : undefined;
  return hex === undefined ? undefined : unmapped(hex);
}

/**
 * The IPv4 address in the two spellings that nearly all come in: by itself, or behind the `::ffff:` with
 * which a socket for both families writes it. Costs no more than a look at each character.
 */
export function dottedQuad(text: string): string | undefined {
  const dotted = text.startsWith('::ffff:') ? text.slice(7) : text;
  return isIPv4(dotted) ? dotted : undefined;
}

/** Whether a text is four decimal octets without leading zeros. */
function isIPv4(text: string): boolean {
  if (text.length > 15) return false;
  let dots = 0;
  let octet = -1;
  for (let index = 0; index < text.length; index += 1) {
    const digit = text.charCodeAt(index) - 48;
    if (digit === -2 && octet >= 0) {
      dots += 1;
      octet = -1;
    } else if (digit >= 0 && digit <= 9 && octet !== 0) {
      octet = octet < 0 ? digit : octet * 10 + digit;
      if (octet > 255) return false;
    } else {
      return false;
    }
  }
  return dots === 3 && octet >= 0;
}

/** `fe80::1%eth0` without the zone, of the characters that RFC 6874 allows in one. */
function withoutZone(text: string): string {
  const zone = text.indexOf('%');
  return zone >= 0 && /^%[\w.~-]+$/.test(text.slice(zone)) ? text.slice(0, zone) : text;
}

/** `::ffff:1.2.3.4` as `::ffff:102:304`; the library reads a dotted tail leniently, and `::1.2.3.4` as mapped. */
function hexOnly(text: string): string | undefined {
  if (!text.includes('.')) return text;
  const tail = text.lastIndexOf(':') + 1;
  const dotted = text.slice(tail);
  if (!isIPv4(dotted)) return undefined;
  const [a, b, c, d] = dotted.split('.').map(Number) as [number, number, number, number];
  return `${text.slice(0, tail)}${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
}

/**
 * What stands before the 32 bits of an IPv4 address: `::ffff:0:0/96` where it is mapped, and the well-known prefix
 * of NAT64, `64:ff9b::/96` (RFC 6052), by which an IPv6-only server is reached over IPv4.
 */
const IPV4_PREFIXES = [
  [0, 0, 0, 0, 0, 0xffff],
  [0x64, 0xff9b, 0, 0, 0, 0],
];

function unmapped(hex: string): IpAddress | undefined {
  try {
    const address = ipaddr.IPv6.parse(hex);
    const { parts } = address;
    const isIPv4 = IPV4_PREFIXES.some((prefix) => prefix.every((part, index) => part === parts[index]));
    return isIPv4 ? new ipaddr.IPv4(address.toByteArray().slice(12)) : address;
  } catch {
    return undefined;
  }
}
