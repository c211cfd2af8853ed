/**
 * Returns the program `promtool` of Prometheus: of the PATH, or of its Debian package.
 *
 * @throws Error if this machine has neither
 */
export function promtool(): string;
