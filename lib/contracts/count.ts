/**
 * A count given as a string of digits, as configuration files and environment variables give it, as a number;
 * any other value as it is, for the check of its option to refuse.
 */
export function readCount(value: unknown): unknown {
  return typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value;
}
