import { createHash } from 'node:crypto';
import { everyAlgorithm } from '../../algorithms/registry.js';
import { assemble, EVERY_MAIN, type Main } from './script.js';

const PREFIX = 'nestjs_redis_rate_limit_';
const LIMITER_LIBRARY = new RegExp(`^${PREFIX}[0-9a-f]{12}$`);

/** A library of Redis functions with all algorithms and functions of the limiter, named by a hash of its text. */
export interface Library {
  readonly name: string;
  /** The argument of FUNCTION LOAD. */
  readonly text: string;
  /**
   * Returns the name of a Redis function.
   *
   * @param isFull for a server that is out of memory
   */
  functionOf(main: Main, isFull?: boolean): string;
}

let known: Library | undefined;

/** Returns the library of this release. */
export function library(): Library {
  return (known ??= assembleLibrary());
}

/** Whether a library belongs to any release of this package. */
export function isLimiterLibrary(name: string): boolean {
  return LIMITER_LIBRARY.test(name);
}

function assembleLibrary(): Library {
  const body = assemble(EVERY_MAIN, everyAlgorithm);
  const name = `${PREFIX}${createHash('sha256').update(body).digest('hex').slice(0, 12)}`;
  const functionOf = (main: Main, isFull = false): string => `${name}_${main}${isFull ? '_full' : ''}`;
  const text = [
    `#!lua name=${name}`,
    // Global names cannot be read while a library loads, so the first call defines all functions.
    'local functions',
    'local function define()',
    body,
    `return { ${EVERY_MAIN.map((main) => `${main} = ${main}, ${main}_full = when_full(${main})`).join(', ')} }`,
    'end',
    ...EVERY_MAIN.flatMap((main) => [
      registration(functionOf(main), main, ''),
      registration(functionOf(main, true), `${main}_full`, "'allow-oom'"),
    ]),
  ].join('\n');
  return { name, text, functionOf };
}

function registration(name: string, main: string, flags: string): string {
  const callback = `function(...)\n  functions = functions or define()\n  return functions.${main}(...)\nend`;
  return `redis.register_function{ function_name = '${name}', flags = { ${flags} }, callback = ${callback} }`;
}
