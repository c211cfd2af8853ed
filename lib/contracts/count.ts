/**
 * Converts a count given as a string of digits, as in environment variables and configuration files, to a number.
 * Returns any other value unchanged, so that the check of the option can reject it.
 */
export function readCount(value: unknown): unknown {
  return typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value;
}
