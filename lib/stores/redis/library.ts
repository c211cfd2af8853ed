import { createHash } from 'node:crypto';
import { everyAlgorithm } from '../../algorithms/registry.js';
import idle from './idle.lua.js';
import { assemble, EVERY_MAIN, type Main } from './script.js';

const PREFIX = 'nestjs_redis_rate_limit_';
const LIMITER_LIBRARY = new RegExp(`^${PREFIX}[0-9a-f]{12}$`);

/** A library of Redis functions with all algorithms and functions of the limiter, named by a hash of its text. */
export interface Library {
  readonly name: string;
  /** The argument of FUNCTION LOAD. */
  readonly text: string;
  /** The name of each Redis function. */
  readonly functions: Readonly<Record<Main, string>>;
  /** The names of the same functions for a server that is out of memory. */
  readonly functionsWhenFull: Readonly<Record<Main, string>>;
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

/** Returns the function of a library of any release that reports for how long no process has called the others. */
export function idleFunctionOf(name: string): string {
  return `${name}_idle`;
}

function assembleLibrary(): Library {
  const body = assemble(EVERY_MAIN, everyAlgorithm);
  const hash = createHash('sha256').update(textOf(PREFIX, body)).digest('hex');
  const name = `${PREFIX}${hash.slice(0, 12)}`;
  return {
    name,
    text: textOf(name, body),
    functions: functionsOf(name),
    functionsWhenFull: functionsOf(name, true),
  };
}

function textOf(name: string, body: string): string {
  return [
    `#!lua name=${name}`,
    idle.text,
    // Global names cannot be read while a library loads, so the first call defines all functions.
    'local functions',
    'local function define()',
    body,
    `return { ${EVERY_MAIN.map((main) => `${main} = ${main}, ${main}_full = when_full(${main})`).join(', ')} }`,
    'end',
    registration(idleFunctionOf(name), "'no-writes'", 'idle'),
    ...EVERY_MAIN.flatMap((main) => [
      registration(functionOf(name, main), '', counted(main)),
      registration(functionOf(name, main, true), "'allow-oom'", counted(`${main}_full`)),
    ]),
  ].join('\n');
}

function functionsOf(name: string, isFull?: boolean): Record<Main, string> {
  const names = EVERY_MAIN.map((main) => [main, functionOf(name, main, isFull)] as const);
  return Object.fromEntries(names) as Record<Main, string>;
}

function functionOf(name: string, main: Main, isFull = false): string {
  return `${name}_${main}${isFull ? '_full' : ''}`;
}

function counted(main: string): string {
  return `function(...)\n  calls, functions = calls + 1, functions or define()\n  return functions.${main}(...)\nend`;
}

function registration(name: string, flags: string, callback: string): string {
  return `redis.register_function{ function_name = '${name}', flags = { ${flags} }, callback = ${callback} }`;
}
