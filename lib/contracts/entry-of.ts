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
