/**
 * Whether a value is an object with named fields: not `null`, an array, a Map or a Promise, whose fields would be missing
 * without an error.
 */
export function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false;
  const kind = Object.prototype.toString.call(value);
  return kind === '[object Object]' || kind === '[object Module]';
}

/** Returns an object with some of the fields of another one, by default those that are set. */
export function pickFields(fields: object, isPicked = isSet): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter((entry) => isPicked(...entry)));
}

function isSet(_field: string, value: unknown): boolean {
  return value !== undefined;
}

/** Returns the object that a text holds as JSON; `undefined` if it holds none. */
export function fieldsIn(text: string): Readonly<Record<string, unknown>> | undefined {
  const value = jsonIn(text);
  return isFields(value) ? value : undefined;
}

/** Returns the value of a JSON text; `undefined` if it is none. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
