import { isFields } from '../../contracts/fields.js';
import { foreignFix, translated } from '../../rules/foreign-fields.js';
import { ROUTE_FIELDS } from './rule-layers.js';

const REDIS = 'write redis: "redis://host:6379", or a client of ioredis';
const PLACE = 'write redis: { host: "…", port: 6379 }';
const BODY = 'write body: a function of the decision';
const HEADERS = 'write headers: "draft-10", "legacy" or false';

/** What to write instead of the module options of other rate limiters. */
const FIXES: Readonly<Record<string, string>> = {
  storage: REDIS,
  store: REDIS,
  client: REDIS,
  connection: REDIS,
  url: REDIS,
  host: PLACE,
  port: PLACE,
  errorMessage: BODY,
  message: BODY,
  setHeaders: HEADERS,
  standardHeaders: HEADERS,
  legacyHeaders: HEADERS,
  keyPrefix: 'write prefix: "rl:"',
};

/** Suggests what to write instead of an unknown option; `undefined` if there is no suggestion. */
export function foreignOptionFix(option: string, value: unknown): string | undefined {
  if (option === 'throttlers') return `write rules: ${rulesOf(Array.isArray(value) ? value : [])}`;
  if (Object.hasOwn(FIXES, option)) return FIXES[option];
  if (!Object.hasOwn(ROUTE_FIELDS, option) && foreignFix(option, value) === undefined) return undefined;
  return `a field of a rule: write rules: ${rulesOf([{ [option]: value }])}`;
}

/** Returns what is wrong with options that Nest has spread: a list, as for @nestjs/throttler, or a string. */
export function spreadProblem(options: Readonly<Record<string, unknown>>): string | undefined {
  if (!Object.hasOwn(options, '0')) return undefined;
  const values = Object.values(options);
  const [given, fix] = values.every(isFields)
    ? ['a list', `rules: ${rulesOf(values)}`]
    : ['a text', 'redis: "redis://host:6379"'];
  return `the options of RateLimitModule: got ${given}; write { ${fix} }`;
}

function rulesOf(rules: readonly unknown[]): string {
  const named = rules.filter(isFields).map(({ name = 'default', ...fields }) => {
    return `${/^\w+$/.test(String(name)) ? String(name) : JSON.stringify(name)}: { ${translated(fields)} }`;
  });
  return named.length > 0 ? `{ ${named.join(', ')} }` : '{ default: { window: "1m", limit: 100 } }';
}
