import { isFields } from '../../contracts/fields.js';
import { foreignFix, translated } from '../../rules/foreign-fields.js';
import { ROUTE_FIELDS } from './rule-layers.js';
import {
  FLAG,
  FROM_ONE,
  hasFlags,
  listOf,
  matching,
  MILLISECONDS,
  oneOf,
  readFields,
  rejection,
  unknownOption,
  valueProblems,
  type OptionCheck,
  type OptionChecks,
} from '../../contracts/options.js';
import { problem, quoted } from '../../contracts/rate-limit-config.error.js';
import { shown } from '../../contracts/shown.js';
import { APPLICATION } from '../../limiter/rate-limiter.options.js';
import { RULE_FIELDS } from '../../rules/rule-fields.js';
import { PREFIX } from '../../rules/keys.js';
import type { RateLimitModuleOptions } from '../rate-limit.options.js';
import { TRANSPORT_NAMES, type TransportName } from './route-rule.js';

/** What to write instead of the module options of other rate limiters. */
const FIXES: readonly (readonly [options: RegExp, fix: string])[] = [
  [/^(storage|store|client|connection|url)$/, 'write redis: "redis://host:6379", or a client of ioredis'],
  [/^(host|port)$/, 'write redis: { host: "…", port: 6379 }'],
  [/^(errorMessage|message)$/, 'write body: a function of the decision'],
  [/^(setHeaders|standardHeaders|legacyHeaders)$/, 'write headers: "draft-10", "legacy" or false'],
  [/^keyPrefix$/, 'write prefix: "rl:"'],
];

/** Suggests what to write instead of an unknown option; `undefined` if there is no suggestion. */
function foreignOptionFix(option: string, value: unknown): string | undefined {
  if (option === 'throttlers') return `write rules: ${throttlersOf(Array.isArray(value) ? value : [])}`;
  const fix = FIXES.find(([options]) => options.test(option))?.[1];
  if (fix !== undefined) return fix;
  if (!Object.hasOwn(ROUTE_FIELDS, option) && foreignFix(option, value) === undefined) return undefined;
  return `a field of a rule: write rules: ${throttlersOf([{ [option]: value }])}`;
}

/** Returns what is wrong with options that Nest has spread: a list, as for @nestjs/throttler, or a string. */
function spreadProblem(options: Readonly<Record<string, unknown>>): string | undefined {
  if (!Object.hasOwn(options, '0')) return undefined;
  const values = Object.values(options);
  const [given, fix] = values.every(isFields)
    ? ['a list', `rules: ${throttlersOf(values)}`]
    : ['a text', 'redis: "redis://host:6379"'];
  return `the options of RateLimitModule: got ${given}; write { ${fix} }`;
}

function throttlersOf(rules: readonly unknown[]): string {
  const named = rules.filter(isFields).map(({ name = 'default', ...fields }) => {
    return `${/^\w+$/.test(String(name)) ? String(name) : JSON.stringify(name)}: { ${translated(fields)} }`;
  });
  return named.length > 0 ? `{ ${named.join(', ')} }` : '{ default: { window: "1m", limit: 100 } }';
}

type Methods = Readonly<Record<string, unknown>>;

const RULE: OptionCheck = { allowed: 'an object with fields of a rule', accepts: isFields };

const A_RULE = 'such as { login: { limit: 5 } }';

const RULES: OptionCheck = {
  allowed: `an object of rules by their names, ${A_RULE}`,
  accepts: (value) => isFields(value) && Object.values(value).every(isFields),
  problems: (value, path) => {
    if (!isFields(value)) return [rejection(path, value, RULES)];
    const wrong = Object.entries(value).filter(([, rule]) => !isFields(rule));
    // Without a text: it may be a variable of the environment.
    return wrong.map(
      ([name, rule]) =>
        `${path}.${name}: got ${typeof rule === 'string' ? 'a text' : shown(rule)}; allowed: ${RULE.allowed}, ${A_RULE}`,
    );
  },
};

/** The checks that are loaded if their options are set. */
const LOADED: Readonly<Record<string, () => Promise<OptionCheck>>> = {
  redis: async () => (await import('../../stores/redis/redis-option.js')).REDIS,
  headers: async () => (await import('../../http/header-styles.js')).HEADERS,
  warnings: async () => (await import('../warning-codes.js')).WARNINGS,
};

/** Headers that a denial sets, or that HTTP itself needs. */
const RESERVED_HEADERS =
  'retry-after|(x-)?ratelimit.*|content-.*|transfer-encoding|connection|upgrade|te|date|location|set-cookie';

const UNCHECKED: OptionCheck = { allowed: 'any value', accepts: () => true };

const CHECKS: Readonly<Record<keyof RateLimitModuleOptions, OptionCheck>> = {
  redis: UNCHECKED,
  rules: RULES,
  onDemand: RULES,
  overrides: RULES,
  liveRules: {
    allowed:
      'a RedisRuleSource, FileRuleSource or MemoryRuleSource, or an object with the methods load and watch',
    accepts: (value) =>
      ['load', 'watch'].every((name) => typeof (value as Methods | null)?.[name] === 'function'),
  },
  defaults: RULE,
  headers: UNCHECKED,
  denialIdHeader: matching(
    new RegExp(`^(?!(${RESERVED_HEADERS})$)[\\w-]{1,64}$`, 'i'),
    'a name of a header of your own, such as "x-denial-id"',
  ),
  body: {
    allowed: '"nest", or a function of the decision and the ExecutionContext',
    accepts: (value) => value === 'nest' || typeof value === 'function',
  },
  transports: listOf(quoted(TRANSPORT_NAMES), (each) => TRANSPORT_NAMES.includes(each as TransportName)),
  onDeniedEvent: oneOf('drop', 'throw'),
  prefix: PREFIX,
  application: APPLICATION,
  onStoreError: RULE_FIELDS.onStoreError,
  health: {
    allowed: 'an object such as { fallbackIsDown: true }',
    accepts: (value) => hasFlags(value, ['fallbackIsDown']),
  },
  instances: FROM_ONE,
  denyCache: FLAG,
  timeout: MILLISECONDS,
  functions: FLAG,
  maxKeys: FROM_ONE,
  warnings: UNCHECKED,
};

/** The options that Nest needs before a factory runs. */
export const EXTRAS: OptionChecks = { isGlobal: FLAG, registerGuard: FLAG, registerFilter: FLAG };

/** Whether the module has an option of this name, or another rate limiter's module has it. */
export function isModuleOption(name: string): boolean {
  return Object.hasOwn(CHECKS, name) || foreignOptionFix(name, undefined) !== undefined;
}

/** Returns the problems of the module's options, except for the rules, which are checked with the routes. */
export async function optionProblems(options: unknown): Promise<string[]> {
  if (!isFields(options)) return [problem('the options of RateLimitModule', options, 'an object')];
  const spread = spreadProblem(options);
  if (spread !== undefined) return [spread];
  const checks: Record<string, OptionCheck> = { ...CHECKS };
  for (const [name, load] of Object.entries(LOADED))
    if (options[name] !== undefined) checks[name] = await load();
  return Object.entries(options).flatMap(([name, value]) => {
    const check = Object.hasOwn(checks, name) ? checks[name] : undefined;
    if (Object.hasOwn(EXTRAS, name))
      return [`${name}: got in the result of a factory; write it beside \`useFactory\``];
    if (check) return valueProblems(name, check.read ? check.read(value) : value, check);
    const fix = foreignOptionFix(name, value);
    return [
      fix === undefined
        ? unknownOption(name, name, Object.keys({ ...checks, ...EXTRAS }))
        : `${name}: ${fix}`,
    ];
  });
}

/** The options, with strings of digits converted to numbers. */
export function readModuleOptions(options: RateLimitModuleOptions): RateLimitModuleOptions {
  return readFields(options, CHECKS);
}

/** The valid part of wrong options. Its rules are checked too, so that one message lists all problems. */
export function readableOptions(options: unknown): RateLimitModuleOptions {
  if (!isFields(options)) return {};
  const readable = (['rules', 'onDemand', 'defaults', 'overrides'] as const).filter((name) =>
    CHECKS[name].accepts(options[name]),
  );
  return Object.fromEntries(readable.map((name) => [name, options[name]]));
}
