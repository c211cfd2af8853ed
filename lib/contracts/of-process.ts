/**
 * Returns the value of a name that the process has once: an application may load the ES module build and the CommonJS build
 * of this package.
 */
export function ofProcess<Value>(name: string, create: () => Value): Value {
  const values = globalThis as Record<symbol, Value | undefined>;
  return (values[Symbol.for(`nestjs-redis-rate-limit:${name}`)] ??= create());
}
