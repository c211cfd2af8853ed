// A registered symbol: the ES module build and the CommonJS build read each other's metadata.
const ID = Symbol.for('nestjs-redis-rate-limit:id');

/** Allowed values of an id. */
export const ID_OPTION = {
  allowed: '1 to 128 printable ASCII characters',
  accepts: (value: unknown): boolean => typeof value === 'string' && /^[\x20-\x7e]{1,128}$/.test(value),
};

/**
 * Names the counters of a handler, or of the handlers of a class: on a class, `orders` stands for `orders.list` and
 * `orders.create`. Without it, the name is the transport's address, such as `GET /orders/:id` or `Query.me`; for a
 * method of a provider, which has no address, it is the name of the method. Two handlers with one name stop the
 * application at start. With it, the counters stay the same if the address changes. Subclasses do not inherit the id of
 * a class.
 *
 * @param id 1 to 128 printable ASCII characters, unique in the application; a wrong one stops it at start
 * @example
 * `@RateLimitId('geocode')`
 */
export function RateLimitId(id: string): ClassDecorator & MethodDecorator {
  return (target: object, name?: string | symbol, descriptor?: PropertyDescriptor): void => {
    Reflect.defineMetadata(ID, id, (descriptor?.value as object | undefined) ?? target);
    // A decorator above this one may replace the method, which would lose its metadata.
    if (name !== undefined) Reflect.defineMetadata(ID, id, target, name);
  };
}

/** Returns the id of a method, whatever its type: its own, or the one of its class with the method's name. */
export function idOn(type: { readonly prototype: unknown }, method: string, handler: object): unknown {
  const own: unknown =
    Reflect.getMetadata(ID, handler) ?? Reflect.getMetadata(ID, type.prototype as object, method);
  const ofClass: unknown = Reflect.getOwnMetadata(ID, type);
  return own ?? (typeof ofClass === 'string' && ofClass !== '' ? `${ofClass}.${method}` : ofClass);
}
