import { escaped } from '../../contracts/shown.js';
import { canonicalIp } from '../../http/client-ip.js';
import { isPrivate, readTime, textOf } from './log-fields.js';
import type { NamedField } from './lines.js';

const MOST_LISTED = 40;

/** The year 2000, in microseconds: a smaller number is a duration or a size. */
const EARLIEST = 946_684_800e6;

/** Returns the fields of a line as text, and the `--map` that reads the missing ones. */
export function fieldsFound(fields: readonly NamedField[], missing: readonly string[]): string {
  const names = fields.slice(0, MOST_LISTED).map(([name]) => name);
  const more = fields.length > MOST_LISTED ? ` and ${fields.length - MOST_LISTED} more` : '';
  const map = missing
    .filter((field) => !names.includes(field))
    .map((field) => `${field}=${fieldFor(field, fields) ?? '<field>'}`);
  const fix = map.length > 0 ? `write --map ${map.join(',')}` : 'check --format, --map and --by';
  return escaped(`the log has the fields ${names.join(', ')}${more}; ${fix}`);
}

/** Returns the first field whose value can be a time or an address. */
function fieldFor(field: string, fields: readonly NamedField[]): string | undefined {
  const isTime = (value: unknown) => (readTime(value) ?? 0) > EARLIEST;
  const isAddress = (value: unknown) => canonicalIp(textOf(value)?.split(',')[0]) !== undefined;
  const fits = field === 'time' ? isTime : field === 'ip' ? isAddress : () => false;
  return fields.find(([, value]) => fits(value))?.[0];
}

/** Returns the first field of a line that can have the address from which a proxy received a request. */
export function forwardedField(fields: readonly NamedField[]): string | undefined {
  const named = fields.filter(([name]) => /forwarded|real.?ip|connecting.?ip|client.?ip/i.test(name));
  const isPublic = (address: string) => {
    const ip = canonicalIp(address.trim());
    return ip !== undefined && !isPrivate(ip);
  };
  return named.find(([, value]) => textOf(value)?.split(',').some(isPublic))?.[0];
}
