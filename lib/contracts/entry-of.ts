/** Returns the entry of a key, creating it if necessary. */
export function entryOf<Key, Value>(
  entries: { get(key: Key): Value | undefined; set(key: Key, value: Value): unknown },
  key: Key,
  create: () => Value,
): Value {
  const known = entries.get(key);
  if (known !== undefined) return known;
  const entry = create();
  entries.set(key, entry);
  return entry;
}

/**
 * Returns the value of a name that the process has once: an application may load the ES module build and the CommonJS build
 * of this package.
 */
export function ofProcess<Value>(name: string, create: () => Value): Value {
  const values = globalThis as Record<symbol, Value | undefined>;
  return (values[Symbol.for(`nestjs-redis-rate-limit:${name}`)] ??= create());
}
