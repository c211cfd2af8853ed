import { isFields } from '../../contracts/fields.js';
import { lineReader, namesOf, type Lookup } from './log-fields.js';
import type { LineOptions, LineReader } from './lines.js';

type Fields = Readonly<Record<string, unknown>>;

/** Returns a function that finds a field by any of its names; a dot leads into an object. */
function finder(names: readonly string[]): Lookup<Fields> {
  const paths = names.map((name) => ({ name, steps: name.split('.') }));
  return (line) => {
    for (const { name, steps } of paths) {
      const value = Object.hasOwn(line, name)
        ? line[name]
        : steps.length > 1
          ? inside(line, steps)
          : undefined;
      if (value !== undefined && value !== null) return value;
    }
    return undefined;
  };
}

function inside(line: Fields, steps: readonly string[]): unknown {
  let value: unknown = line;
  for (const step of steps) {
    if (!isFields(value)) return undefined;
    value = value[step] ?? value[capitalized(step)];
  }
  return value;
}

/** `x-api-key` as some servers log it: `X-Api-Key`. */
function capitalized(name: string): string {
  return name.replace(/(^|-)[a-z]/g, (start) => start.toUpperCase());
}

/** Returns a reader for lines that are JSON objects. */
export function jsonReader({ by, map }: LineOptions): LineReader {
  const lookup = (field: string) => finder(namesOf(field, map));
  return lineReader(by, { parse, time: lookup('time'), lookup });
}

function parse(text: string): Fields | undefined {
  try {
    const line: unknown = JSON.parse(text);
    return isFields(line) ? line : undefined;
  } catch {
    return undefined;
  }
}
