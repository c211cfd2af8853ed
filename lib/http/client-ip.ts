import { isIPv4 } from 'node:net';
import { parseClientIp, textOf } from './ip-address.js';
import type { HttpRequest } from './subject.js';

/**
 * Makes a function that finds the client's IP, canonical by bits; `undefined` if it is not known.
 *
 * It never reads `X-Forwarded-For`, which a client can write: the framework does, if it is set to trust the proxies.
 * An `ip` that is no address counts as the peer, so that no client evades the limit by sending one.
 *
 * @param ipv6Prefix number of leading bits that are the network, an integer from 1 to 128
 */
export function ipSubject(ipv6Prefix = 64): (request: HttpRequest) => string | undefined {
  return ({ ip, socket }) => canonicalIp(ip, ipv6Prefix) ?? canonicalIp(socket?.remoteAddress, ipv6Prefix);
}

/**
 * The subject of a program's text in a rule with `by: 'ip'`. A masked network, as events have it
 * (`2001:db8:1:2::/64`), is its own subject. `undefined` if the text is no IP address.
 */
export function ipSubjectOf(text: string, ipv6Prefix = 64): string | undefined {
  const mask = `/${ipv6Prefix}`;
  const isMasked = text.endsWith(mask) && text.includes(':');
  return canonicalIp(isMasked ? text.slice(0, -mask.length) : text, ipv6Prefix);
}

/**
 * One text for each client: an IPv4 address, or the IPv6 network that a client has to itself.
 * `undefined` if the text is no IP address.
 *
 * IPv4-mapped IPv6 is IPv4, and so is IPv4 behind NAT64 (`64:ff9b::/96`): `::ffff:102:304` and
 * `64:ff9b::102:304` are `1.2.3.4`. Other IPv6 is the network, such as
 * `2001:db8:1:2::/64`, since a client can choose any address in it. A port behind the address and brackets
 * around it are dropped.
 *
 * @param ipv6Prefix number of leading bits that are the network, an integer from 1 to 128
 */
export function canonicalIp(address: string | undefined, ipv6Prefix = 64): string | undefined {
  if (typeof address !== 'string') return undefined;
  // The two forms that nearly all addresses have: a socket for both families writes `::ffff:` in front.
  const dotted = address.startsWith('::ffff:') ? address.slice(7) : address;
  if (dotted.length <= 15 && isIPv4(dotted)) return dotted;
  const ip = parseClientIp(address);
  return typeof ip === 'object' ? `${networkOf(ip, ipv6Prefix)}/${ipv6Prefix}` : ip;
}

function networkOf(groups: readonly number[], bits: number): string {
  return textOf(groups.map((group, index) => group & maskOf(bits - 16 * index)));
}

/** The mask of a 16-bit group with so many leading bits that count. */
function maskOf(bits: number): number {
  return 0xffff & (0xffff << (16 - Math.min(16, Math.max(0, bits))));
}
