import { isFields } from '../../contracts/fields.js';
import { fieldsIn } from '../../contracts/fields.js';
import { capitalized, lineReader, namesOf, textOf } from './log-fields.js';
import type { LineOptions, LogReader, Lookup, NamedField } from './log-fields.js';

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

/** Returns a reader for lines that are JSON objects. */
export function jsonReader(options: LineOptions): LogReader {
  const lookup = (field: string) => finder(namesOf(field, options));
  return lineReader(options.by, {
    parse: fieldsIn,
    time: lookup('time'),
    lookup,
    fields: (line) => named(line, '', 3),
  });
}

/** Returns the fields with a text or a number in them, down to a depth. */
function named(line: Fields, parent: string, depth: number): readonly NamedField[] {
  return Object.entries(line).flatMap(([name, value]): readonly NamedField[] => {
    const path = parent + name;
    if (textOf(value) !== undefined) return [[path, value]];
    return depth > 1 && isFields(value) ? named(value, `${path}.`, depth - 1) : [];
  });
}
