import { parseRanges } from '../../http/ip.js';
import type { HttpRequest } from '../../http/subject.js';

/** Whether a value is a list of IPs and CIDR ranges. */
export function isAllowList(value: unknown): boolean {
  if (!Array.isArray(value) || !value.every((entry) => typeof entry === 'string')) return false;
  try {
    parseRanges(value);
    return true;
  } catch {
    return false;
  }
}

/** Tells whether a request comes from one of the IPs and ranges. */
export function allowListOf(entries: readonly string[]): (request: HttpRequest) => boolean {
  const ranges = parseRanges(entries);
  return ({ ip, socket }) => ranges.contains(ip ?? socket?.remoteAddress);
}
