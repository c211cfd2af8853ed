import { isFields } from './fields.js';

/** Returns the object that a text holds as JSON; `undefined` if it holds none. */
export function fieldsIn(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isFields(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
