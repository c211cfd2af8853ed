import { isIPv4 } from 'node:net';
import { parseClientIp, textOf } from './ip-address.js';
import type { HttpRequest } from './subject.js';

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
  return typeof ip === 'object' ? `${networkOf(ip, ipv6Prefix)}/${ipv6Prefix}` : ip;
}

function networkOf(groups: readonly number[], bits: number): string {
  return textOf(groups.map((group, index) => group & maskOf(bits - 16 * index)));
}

/** Returns the mask of the leading bits of a 16-bit group. */
function maskOf(bits: number): number {
  return 0xffff & (0xffff << (16 - Math.min(16, Math.max(0, bits))));
}
