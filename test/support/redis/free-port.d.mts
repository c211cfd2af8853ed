/** Returns a port of 127.0.0.1 that no program uses. */
export function freePort(): Promise<number>;
